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

    /// The highest version to accept: a year after 2100. Versions above it are from a clock that is wrong, and Lua could not
    /// compare them exactly.
    static let maxVersion: Int64 = 1 << 52
    /// How far a version may be ahead of the local clock, in microseconds: one day.
    static let maxLead: Int64 = 86_400_000_000
}

/// What a process knows about a cookie: the last change that it made or applied.
struct KnownVersion: Hashable, Sendable {
    var version: Int64
    var isRemoved: Bool
}
#endif
