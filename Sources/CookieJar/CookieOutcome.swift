// SPDX-License-Identifier: Apache-2.0

/// What became of a cookie that was handed to a jar.
public enum CookieOutcome: Hashable, Sendable, CustomStringConvertible {
    /// It is new and in the jar.
    case kept
    /// It took the place of the one with its name, domain and path, and that one's creation time.
    case replaced
    /// It has expired already: the one with its name, domain and path, if there was one, is gone.
    case deleted
    /// It was refused.
    case rejected(CookieRejection)

    /// `kept`, `replaced`, `deleted` or `rejected: ` and why.
    public var description: String {
        switch self {
        case .kept: "kept"
        case .replaced: "replaced"
        case .deleted: "deleted"
        case .rejected(let reason): "rejected: \(reason)"
        }
    }
}
