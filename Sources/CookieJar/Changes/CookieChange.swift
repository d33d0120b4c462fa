// SPDX-License-Identifier: Apache-2.0

/// A change of a cookie in a jar.
public struct CookieChange: Hashable, Sendable {
    /// The kind of a change.
    public enum Kind: Hashable, Sendable {
        /// The cookie was added. There was none with its name, domain and path.
        case added
        /// The cookie replaced the one with its name, domain and path.
        case replaced
        /// The cookie was removed.
        case removed(Cause)
    }

    /// The reason why a cookie was removed.
    public enum Cause: Hashable, Sendable {
        /// It expired.
        case expired
        /// The jar or its domain was full.
        case evicted
        /// The program deleted it.
        case explicit
        /// A response set it again with an expiry in the past.
        case overwritten
    }

    /// The kind of the change.
    public let kind: Kind
    /// The cookie after the change, or before its removal.
    public let cookie: Cookie
    /// When the change happened: the time of the jar's clock, or the time that the caller passed.
    public let time: CookieTime
    /// The source of the change, if the caller passed one.
    public let source: ChangeSource?

    package init(kind: Kind, cookie: Cookie, time: CookieTime, source: ChangeSource?) {
        self.kind = kind
        self.cookie = cookie
        self.time = time
        self.source = source
    }
}

/// A mark that identifies the source of a change. It lets a program recognize its own changes, so that two stores that mirror
/// each other do not copy changes back and forth for ever.
public struct ChangeSource: Hashable, Sendable {
    private final class Identity: Sendable {}

    private let identity = Identity()

    /// A source that is equal only to itself and its copies.
    public init() {}

    /// Whether both are copies of one source.
    public static func == (left: ChangeSource, right: ChangeSource) -> Bool { left.identity === right.identity }

    /// Hashes the identity of the source.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(identity)) }
}

/// An observer that receives every change of a jar when it happens: the buffer of a stream, or a store on disk.
package protocol CookieFollower: AnyObject, Sendable {
    /// Receives changes in order. Called while the jar is locked, so it must be fast and must not use the jar.
    func note(_ changes: [CookieChange])

    /// Called when no more changes come, because the jar is gone or the reader of the stream is.
    func finish()

    /// Whether the follower needs no more changes. The jar then drops it.
    var isFinished: Bool { get }
}
