// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// What a store needs that mirrors a jar, to lose no change of anybody else's.
extension CookieJar {
    /// What became of the jar's part of a plan.
    package struct Carried: Sendable {
        /// How many cookies the jar got.
        package var came = 0
        /// How many were deleted from it.
        package var went = 0
        /// Why the jar does not take some.
        package var refused: [CookieRejection] = []
        /// Places that somebody else changed first; nothing was done there.
        package var outdated: Set<CookiePlace> = []
    }

    /// The cookies that are in the jar, the news that led to them, and the jar's time: taken at one moment.
    package func catchUp(_ news: CookieNews) -> (cookies: [Cookie], news: [CookieChange], now: CookieTime) {
        let now = clock()
        return state.withLockedValue { ($0.cookies(at: now), news.take(), now) }
    }

    /// Does the jar's part of a plan.
    ///
    /// - Parameter cookies: What the jar had when the plan was made; afterwards, what it has.
    package func carryOut(
        _ plan: CookieReconciliation.Plan,
        in cookies: inout [CookiePlace: Cookie],
        source: ChangeSource,
        now: CookieTime
    ) -> Carried {
        var carried = Carried()
        for (new, old) in plan.intoJar {
            let place = CookiePlace(new)
            switch exchange(old, for: new, isOfThisSession: !plan.isFirst, source: source, now: now) {
            case .done(let present): (cookies[place], carried.came) = (present, carried.came + 1)
            case .rejected(let reason): carried.refused.append(reason)
            case .outdated: carried.outdated.insert(place)
            }
        }
        for old in plan.outOfJar {
            let place = CookiePlace(old)
            if exchange(old, for: nil, source: source, now: now) == .outdated {
                carried.outdated.insert(place)
            } else {
                (cookies[place], carried.went) = (nil, carried.went + 1)
            }
        }
        return carried
    }

    /// What became of ``exchange(_:for:isOfThisSession:source:now:)``.
    private enum Exchange: Equatable {
        /// It is done; the cookie that is in its place now.
        case done(Cookie?)
        /// The jar does not take the new cookie, and has the old one.
        case rejected(CookieRejection)
        /// Somebody else changed the jar first; nothing was done.
        case outdated
    }

    /// Puts a cookie in the place of another of the same name, domain, host-only flag, path and partition, provided
    /// that the jar still has that one.
    ///
    /// - Parameters:
    ///   - old: What is expected in the jar, whenever it was last sent; nil: nothing.
    ///   - new: What is to be there; nil: nothing.
    private func exchange(
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
