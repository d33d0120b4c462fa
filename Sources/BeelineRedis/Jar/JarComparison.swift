// SPDX-License-Identifier: Apache-2.0

#if Redis
import CookieJar

/// Compares the whole jar of the server with this process's, and decides how to make both equal. For each cookie the
/// highest version wins. A pure value without I/O.
struct JarComparison: Hashable, Sendable {
    /// The server's states that are newer.
    private(set) var updates: [JarUpdate] = []
    /// This process's states that the server lacks: the server lost them, or they were never written.
    private(set) var pushes: [PendingChanges.Entry] = []
    /// Cookies that were deleted elsewhere so long ago that the server has dropped their deletion records, and their
    /// known versions.
    private(set) var dropped: [CookieKey: Int64] = [:]

    /// - Parameters:
    ///   - server: All records of the server.
    ///   - pruned: The newest version among the deletion records that the server no longer has. It has all newer ones.
    ///     So a cookie that it lacks was lost if its version is above this one, and was deleted otherwise.
    ///   - drops: Whether to accept such deletions. If not, all cookies that the server lacks count as lost.
    ///   - known: The versions that this process knows.
    ///   - pending: The cookies with changes of this process that are not written yet. None of them is dropped.
    ///   - cookies: The cookies of this process's jar.
    init(
        server: [JarUpdate],
        pruned: Int64,
        drops: Bool,
        known: [CookieKey: KnownVersion],
        pending: Set<CookieKey>,
        cookies: [Cookie]
    ) {
        let cookies = Dictionary(cookies.map { (CookieKey($0), $0) }) { $1 }
        var rest = known
        for update in server {
            guard let own = rest.removeValue(forKey: update.key) else {
                updates.append(update)
                continue
            }
            let isMissing = own.kind == .absent && update.cookie != nil
            if own.version < update.version || (own.version == update.version && isMissing) {
                updates.append(update)
            } else if own.version > update.version {
                push(update.key, own, from: cookies)
            }
        }
        for (key, own) in rest {
            // A cookie that the server had no room for cannot have been deleted there.
            if own.version > pruned || (own.kind != .removed && (!drops || own.isRefused)) {
                push(key, own, from: cookies)
            } else if own.kind != .removed, !pending.contains(key) {
                dropped[key] = own.version
            }
        }
        updates.sort { $0.version < $1.version }
        pushes.sort { $0.order < $1.order }
    }

    private mutating func push(_ key: CookieKey, _ own: KnownVersion, from cookies: [CookieKey: Cookie]) {
        if own.kind == .removed {
            pushes.append(PendingChanges.Entry(cookie: key.cookie, kind: .removed, updated: own.version))
        } else if own.kind == .stored, let cookie = cookies[key] {
            pushes.append(PendingChanges.Entry(cookie: cookie, kind: .stored, updated: own.version))
        }
    }
}
#endif
