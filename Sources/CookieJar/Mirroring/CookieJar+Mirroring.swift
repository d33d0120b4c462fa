// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// Operations for a store that mirrors a jar without losing changes from other sources.
extension CookieJar {
    /// The result of applying a plan to the jar.
    package struct Carried: Sendable {
        /// The number of cookies that were stored in the jar.
        package var added = 0
        /// The number of cookies that were deleted from the jar.
        package var removed = 0
        /// The reasons for cookies that the jar rejected.
        package var refused: [CookieRejection] = []
        /// The places that another source changed first. They were left unchanged.
        package var outdated: Set<CookiePlace> = []
    }

    /// The cookies of the jar, the changes that led to them, and the jar's time, taken in one step.
    package func catchUp(_ news: CookieNews) -> (cookies: [Cookie], news: [CookieChange], now: CookieTime) {
        let now = clock()
        return state.withLockedValue { ($0.cookies(at: now), news.take(), now) }
    }

    /// Applies a plan to the jar.
    ///
    /// - Parameter cookies: The cookies of the jar when the plan was made. Updated to the cookies after the plan.
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
            case .done(let present): (cookies[place], carried.added) = (present, carried.added + 1)
            case .rejected(let reason): carried.refused.append(reason)
            case .outdated: carried.outdated.insert(place)
            }
        }
        for old in plan.outOfJar {
            let place = CookiePlace(old)
            if exchange(old, for: nil, source: source, now: now) == .outdated {
                carried.outdated.insert(place)
            } else {
                (cookies[place], carried.removed) = (nil, carried.removed + 1)
            }
        }
        return carried
    }

    /// The result of ``exchange(_:for:isOfThisSession:source:now:)``.
    private enum Exchange: Equatable {
        /// The exchange succeeded. Contains the cookie that is now in the place.
        case done(Cookie?)
        /// The jar rejected the new cookie and kept the old one.
        case rejected(CookieRejection)
        /// Another source changed the jar first, so nothing was done.
        case outdated
    }

    /// Replaces a cookie with another one of the same name, domain, host-only flag, path and partition, if the jar still has the
    /// old one.
    ///
    /// - Parameters:
    ///   - old: The expected cookie in the jar, regardless of when it was last sent. Nil to expect none.
    ///   - new: The new cookie. Nil to delete.
    private func exchange(
        _ old: Cookie?,
        for new: Cookie?,
        isOfThisSession: Bool = true,
        source: ChangeSource,
        now: CookieTime
    ) -> Exchange {
        change(source, now: now) { store in
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
