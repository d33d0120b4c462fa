// SPDX-License-Identifier: Apache-2.0

#if Redis
import CookieJar

/// Compares the whole jar of the server with this process's, and decides how to make both equal. For each cookie the highest
/// version wins. A pure value without I/O.
struct JarComparison: Hashable, Sendable {
    /// The server's states that are newer.
    private(set) var updates: [JarUpdate] = []
    /// This process's states that the server lacks: the server lost them, or they were never written.
    private(set) var pushes: [PendingChanges.Entry] = []
    /// Cookies that were deleted elsewhere so long ago that the server has no record of it, and their known versions.
    private(set) var dropped: [CookieKey: KnownVersion] = [:]

    /// - Parameters:
    ///   - server: All records of the server.
    ///   - pruned: The newest version among the deletion records that the server no longer has. It has all newer ones. So a cookie
    ///     that it lacks with a version above this one was lost, and a cookie with a version up to this one was deleted.
    ///   - known: The versions that this process knows.
    ///   - pending: The cookies with changes of this process that are not written yet. None of them is dropped.
    ///   - cookies: The cookies of this process's jar.
    init(
        server: [JarUpdate],
        pruned: Int64,
        known: [CookieKey: KnownVersion],
        pending: Set<CookieKey>,
        cookies: [Cookie]
    ) {
        let cookies = Dictionary(cookies.map { (CookieKey($0), $0) }) { $1 }
        var rest = known
        for update in server {
            guard let own = rest.removeValue(forKey: update.key), own.version >= update.version else {
                updates.append(update)
                continue
            }
            if own.version > update.version { push(update.key, own, from: cookies) }
        }
        for (key, own) in rest {
            if own.version > pruned {
                push(key, own, from: cookies)
            } else if !pending.contains(key) {
                dropped[key] = own
            }
        }
        updates.sort { $0.version < $1.version }
        pushes.sort { $0.order < $1.order }
    }

    private mutating func push(_ key: CookieKey, _ own: KnownVersion, from cookies: [CookieKey: Cookie]) {
        if own.isRemoved {
            let entry = PendingChanges.Entry(
                cookie: key.cookie,
                kind: .removed,
                updated: own.version,
                order: own.version
            )
            pushes.append(entry)
        } else if let cookie = cookies[key] {
            // Otherwise the cookie has expired, or the jar refused it.
            let entry = PendingChanges.Entry(cookie: cookie, kind: .stored, updated: own.version, order: own.version)
            pushes.append(entry)
        }
    }
}
#endif
