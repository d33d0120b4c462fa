// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// Operations for a store that persists the jar (`BeelineStore`).
extension CookieJar {
    /// Reports each later change to `follower`.
    package func follow(_ follower: any CookieFollower) {
        state.withLockedValue { $0.add(follower) }
    }

    /// Whether the jar continues the state of an earlier process. If so, a cookie that is not in the jar was deleted.
    package var isRestored: Bool { state.withLockedValue { $0.isRestored } }

    /// Marks that the jar continues the state of an earlier process.
    package func markRestored() { state.withLockedValue { $0.isRestored = true } }

    /// Whether a store persists the jar.
    package var isKept: Bool { state.withLockedValue { $0.isKept } }

    /// Marks that a store persists the jar.
    package func markKept() { state.withLockedValue { $0.isKept = true } }

    /// The cookies that were sent or stored at `time` or later, compared in whole seconds.
    package func cookies(accessedSince time: CookieTime) -> [Cookie] {
        let second = time.wholeSeconds
        return state.withLockedValue { store in store.cookies { $0.accessed >= second } }
    }

    /// Merges the changes of another store: cookies with their creation times, and removals.
    ///
    /// - Parameters:
    ///   - stored: The cookies that were added or changed there.
    ///   - removed: The cookies that were removed there.
    ///   - source: The mark of the changes.
    ///   - now: The time.
    ///   - keepsOwn: Whether the jar's own cookie is newer than the given one and stays. Runs while the jar is locked, so that
    ///     the jar cannot change between the check and the merge. It must not use the jar.
    /// - Returns: The outcomes of the stored cookies that `keepsOwn` did not exclude, and the number of evicted cookies.
    @discardableResult
    package func merge(
        stored: [Cookie],
        removed: [Cookie] = [],
        source: ChangeSource,
        now: CookieTime? = nil,
        unless keepsOwn: (Cookie) -> Bool = { _ in false }
    ) -> CookieAddition {
        let now = now ?? clock()
        return change(source) { store in
            for cookie in removed where !keepsOwn(cookie) { _ = store.remove(cookie) }
            return store.addition(of: stored.filter { !keepsOwn($0) }) { store, cookie in
                // A replacement would keep the creation time of the jar's cookie. A cookie that was created again in the other
                // store has its own creation time, so remove the jar's cookie first, unless the jar rejects the new one.
                if let own = store.cookie(like: cookie, at: now), own.created != cookie.created, store.accepts(cookie) {
                    _ = store.remove(own)
                }
                return store.insert(cookie, isOfThisSession: false, now: now)
            }
        }
    }
}
