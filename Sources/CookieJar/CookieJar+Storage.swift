// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// What a store that keeps the jar elsewhere needs of it (`BeelineStore`).
extension CookieJar {
    /// Tells `follower` of each change from now on.
    package func follow(_ follower: any CookieFollower) {
        state.withLockedValue { $0.add(follower) }
    }

    /// Whether the jar goes on where an earlier process ended: what it does not have was deleted, and is not still to come.
    package var isRestored: Bool { state.withLockedValue { $0.isRestored } }

    /// Notes that the jar goes on where an earlier process ended.
    package func markRestored() { state.withLockedValue { $0.isRestored = true } }

    /// The cookies that were sent or stored at a time or later, to the second.
    package func cookies(accessedSince time: CookieTime) -> [Cookie] {
        let second = time.wholeSeconds
        return state.withLockedValue { store in store.cookies { $0.accessed >= second } }
    }

    /// Takes over what another place has: cookies as they are there, with their times of creation, and removals.
    ///
    /// - Parameters:
    ///   - stored: Cookies that came or changed there.
    ///   - removed: Cookies that went there.
    ///   - source: The mark that the changes carry.
    ///   - now: The time.
    ///   - keepsOwn: Says of a cookie that the jar's own is the newer one. It runs while the jar is locked, so that no
    ///     change can come between the question and what follows from it; it must not use the jar.
    /// - Returns: What became of the stored cookies that the jar took over, and how many cookies gave way.
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
                // A cookie that is replaced keeps its time of creation; one that was made anew elsewhere has another.
                // One that the jar refuses takes nobody's place.
                if let own = store.cookie(like: cookie, at: now), own.created != cookie.created, store.accepts(cookie) {
                    _ = store.remove(own)
                }
                return store.insert(cookie, isOfThisSession: false, now: now)
            }
        }
    }
}
