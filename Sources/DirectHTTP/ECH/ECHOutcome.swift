// SPDX-License-Identifier: Apache-2.0

/// The outcome of Encrypted Client Hello on a connection (RFC 9849).
public enum ECHOutcome: Hashable, Sendable, CustomStringConvertible {
    /// No encrypted ClientHello was sent: the server name was visible.
    case notOffered
    /// A random extension was sent (RFC 9849 §6.2): the server name was visible.
    case grease
    /// The server name was encrypted. Observers saw the public name.
    case accepted(publicName: String)
    /// The server has turned ECH off, as its certificate for the public name confirmed. The connection was made without
    /// ECH: the server name was visible.
    case rejected(publicName: String)

    /// The outcome in words, for logs and reports: `not offered`, `grease`, `accepted` or `rejected`.
    public var description: String {
        switch self {
        case .notOffered: "not offered"
        case .grease: "grease"
        case .accepted: "accepted"
        case .rejected: "rejected"
        }
    }

    /// The public name of the configuration; nil if there was none.
    public var publicName: String? {
        switch self {
        case .accepted(let name), .rejected(let name): name
        case .notOffered, .grease: nil
        }
    }
}
