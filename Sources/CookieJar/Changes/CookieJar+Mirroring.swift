// SPDX-License-Identifier: Apache-2.0

/// What a store needs that mirrors a jar, to lose no change of anybody else's.
extension CookieJar {
    /// What became of ``exchange(_:for:isOfThisSession:source:now:)``.
    package enum Exchange: Hashable, Sendable {
        /// It is done; the cookie that is in its place now.
        case done(Cookie?)
        /// The jar does not take the new cookie, and has the old one.
        case rejected(CookieRejection)
        /// Somebody else changed the jar first; nothing was done.
        case outdated
    }

    /// The cookies that are in the jar, the changes that led to them, and the jar's time: taken at one moment.
    package func catchUp(
        _ changes: CookieChanges
    ) -> (cookies: [Cookie], events: [CookieChanges.Event], now: CookieTime) {
        let now = clock()
        return state.withReadLock { ($0.cookies(at: now), changes.drain(), now) }
    }

    /// Puts a cookie in the place of another of the same name, domain, host-only flag, path and partition, provided that
    /// the jar still has that one.
    ///
    /// - Parameters:
    ///   - old: What is expected in the jar, whenever it was last sent; nil: nothing.
    ///   - new: What is to be there; nil: nothing.
    package func exchange(
        _ old: Cookie?,
        for new: Cookie?,
        isOfThisSession: Bool = true,
        source: ChangeSource,
        now: CookieTime
    ) -> Exchange {
        change(source, now) { store in
            guard let place = new ?? old else { return .done(nil) }
            var present = store.cookie(like: place, at: now)
            var expected = old
            if let accessed = present?.lastAccessed { expected?.lastAccessed = accessed }
            guard present == expected else { return .outdated }
            if let new {
                let outcome = store.insert(new, isOfThisSession: isOfThisSession, now: now)
                if case .rejected(let reason) = outcome { return .rejected(reason) }
            } else {
                _ = store.remove(place)
            }
            present = store.cookie(like: place, at: now)
            return .done(present)
        }
    }
}
