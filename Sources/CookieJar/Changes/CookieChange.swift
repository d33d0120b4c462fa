// SPDX-License-Identifier: Apache-2.0

/// Something that happened to a cookie in a jar.
public struct CookieChange: Hashable, Sendable {
    /// What happened.
    public enum Kind: Hashable, Sendable {
        /// The cookie came, and there was none of its name, domain and path.
        case added
        /// The cookie took the place of the one with its name, domain and path.
        case replaced
        /// The cookie went.
        case removed(Cause)
    }

    /// Why a cookie went.
    public enum Cause: Hashable, Sendable {
        /// Its time was over.
        case expired
        /// The jar or its domain was full.
        case evicted
        /// The program deleted it.
        case explicit
        /// A response set it anew, with an expiry in the past.
        case overwritten
    }

    /// What happened.
    public let kind: Kind
    /// The cookie as it is now, or as it was when it went.
    public let cookie: Cookie
    /// When it happened: what the jar's clock said, or the time that the caller gave.
    public let time: CookieTime
    /// Who did it, where that was said.
    public let source: ChangeSource?

    package init(kind: Kind, cookie: Cookie, time: CookieTime, source: ChangeSource?) {
        self.kind = kind
        self.cookie = cookie
        self.time = time
        self.source = source
    }
}

/// A mark that somebody who changes a jar puts on its changes, to know them again when the jar tells of them: so two
/// stores that mirror each other do not answer each other's changes for ever.
public struct ChangeSource: Hashable, Sendable {
    private final class Identity: Sendable {}

    private let identity = Identity()

    /// A source that is equal only to itself and its copies.
    public init() {}

    /// Whether both are copies of one source.
    public static func == (left: ChangeSource, right: ChangeSource) -> Bool { left.identity === right.identity }

    /// Hashes what makes the source itself.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(identity)) }
}

/// A listener that gets every change of a jar as it is made: the buffer of a stream, or a store on disk.
package protocol CookieFollower: AnyObject, Sendable {
    /// Takes note of changes, in their order. It is called while the jar is locked: it must be quick and must not use the
    /// jar.
    func note(_ changes: [CookieChange])

    /// Tells the follower that no more changes come: the jar is gone, or its reader is.
    func finish()

    /// Whether it wants to be told nothing more; the jar then forgets it.
    var isFinished: Bool { get }
}
