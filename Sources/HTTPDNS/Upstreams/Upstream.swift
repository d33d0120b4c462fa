// SPDX-License-Identifier: Apache-2.0

/// A service that resolves names.
///
/// Requirements for conforming types: they keep no state per question and accept concurrent calls. ``name``, ``kind``
/// and ``answersOneFamily`` do not change, because the resolver reads them once. ``answer(_:)`` must return or throw soon
/// after its task is cancelled, because that is how the resolver enforces time limits. It must not block its thread,
/// which is an event loop on macOS 15, iOS 18 and later systems and on Linux. `BeelineTesting` has a suite that checks
/// these requirements.
public protocol Upstream: Sendable {
    /// The name in resolutions, errors and metrics, such as `doh:dns.google`. It must not contain secrets.
    var name: String { get }

    /// The kind of upstream, which determines how far its answers are trusted.
    var kind: UpstreamKind { get }

    /// Whether a question asks for one record type, as in DNS. The resolver then asks for both families concurrently
    /// and need not wait for the slower one.
    var answersOneFamily: Bool { get }

    /// Answers a question. Must ask the service at every call.
    ///
    /// - Returns: The answer for each family of the question. A missing family was not answered.
    /// - Throws: ``UpstreamError``. A nonexistent name is an answer, not an error.
    func answer(_ question: Question) async throws(UpstreamError) -> Answer
}

extension Upstream {
    /// ``UpstreamKind/service``.
    public var kind: UpstreamKind { .service }

    /// False: one question asks for both families.
    public var answersOneFamily: Bool { false }
}

/// A kind of upstream. It determines how answers are checked and shown.
public struct UpstreamKind: Hashable, Sendable, CustomStringConvertible {
    /// The kind's name.
    public let description: String

    /// A service on the network: every answer is checked.
    public static let service = UpstreamKind(description: "service")
    /// The system's resolver: every answer is checked, unless the name belongs to the system.
    public static let system = UpstreamKind(description: "system")
    /// A table that the user wrote: it may contain any address.
    public static let fixed = UpstreamKind(description: "fixed")
}
