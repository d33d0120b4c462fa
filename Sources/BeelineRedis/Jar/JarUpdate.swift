// SPDX-License-Identifier: Apache-2.0

#if Redis
import CookieJar

/// The state of a cookie on the server.
struct JarUpdate: Hashable, Sendable {
    let key: CookieKey
    /// The time of the change in microseconds since 1970. Later changes have higher versions.
    let version: Int64
    /// The cookie; nil if it was deleted.
    let cookie: Cookie?

    /// The highest version to accept: a year after 2100. Higher versions come from a wrong clock, and Lua could not
    /// compare them exactly.
    static let maxVersion: Int64 = 1 << 52
    /// How far a version may be ahead of the local clock, in seconds: one day.
    static let maxLead: Int64 = 86_400
}

/// What a process knows about a cookie: the last change that it made or applied.
struct KnownVersion: Hashable, Sendable {
    /// What the change left in the jar.
    enum Kind: Hashable, Sendable {
        case stored
        case removed
        /// The change stored a cookie, but the jar has none: it has expired by the local clock, or the jar refused it.
        /// The next survey offers it again, because the clock may have been wrong.
        case absent
        /// The change stored a cookie, but the limits of this process's jar had no room for it. Other processes keep
        /// it. It returns only with its next change, because it would otherwise evict other cookies at each survey.
        case evicted
    }

    var version: Int64
    var kind: Kind
    /// Whether the server had no room for the change, so that no other process has seen it.
    var isRefused = false
}
#endif
