// SPDX-License-Identifier: Apache-2.0

/// A service that answers names.
///
/// A conforming type keeps nothing per question and may be asked from many tasks at once. ``answer(_:)`` must return or
/// throw soon after its task is cancelled: that is how the resolver ends a question whose time is over. It must not block
/// its thread, which on systems of 2024 and later is an event loop.
/// `BeelineTesting` has a suite that checks these duties.
public protocol Upstream: Sendable {
    /// The name that resolutions, errors and metrics show, such as `doh:dns.google`. It holds no secret.
    var name: String { get }

    /// What the resolver must know of this kind of upstream.
    var kind: UpstreamKind { get }

    /// Whether one question asks for one record type, as in DNS itself. The resolver then asks for both families at
    /// the same time, and need not wait for the slower one.
    var answersOneFamily: Bool { get }

    /// Answers a question, by asking the service once more at every call.
    ///
    /// - Returns: What the service said of each family that was asked for. A family left out was not answered.
    /// - Throws: ``UpstreamError``; "there is no such name" is an answer, not an error.
    func answer(_ question: Question) async throws(UpstreamError) -> Answer
}

extension Upstream {
    /// ``UpstreamKind/service``.
    public var kind: UpstreamKind { .service }

    /// False: one question asks for both families.
    public var answersOneFamily: Bool { false }
}

/// A kind of upstream, by how far its answers are trusted and how they are shown.
public struct UpstreamKind: Hashable, Sendable, CustomStringConvertible {
    /// The kind's name.
    public let description: String

    /// A service on the network: each answer is checked.
    public static let service = UpstreamKind(description: "service")
    /// The system's resolver: each answer is checked, unless the name is one that belongs to the system.
    public static let system = UpstreamKind(description: "system")
    /// A table that the user wrote: it may name any address.
    public static let fixed = UpstreamKind(description: "fixed")
}
