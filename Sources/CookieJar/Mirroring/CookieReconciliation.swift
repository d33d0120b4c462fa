// SPDX-License-Identifier: Apache-2.0

/// Decides what must be done so that a jar and another store of cookies have the same.
///
/// It remembers what each side had when they last agreed, and compares: what differs on one side was changed there and
/// goes to the other, so nothing that was carried over comes back as news. Each round has three steps: `note` what the
/// jar tells, `plan`, and, when that is done, `settle` with what both sides then have.
package struct CookieReconciliation: Sendable {
    /// One of the two sides.
    package enum Side: Hashable, Sendable {
        case jar, store
    }

    /// What is to be done, place by place.
    package struct Plan: Sendable {
        /// Cookies for the jar, each with what the jar is expected to have in its place.
        package var intoJar: [(new: Cookie, old: Cookie?)] = []
        /// Cookies that leave the jar.
        package var outOfJar: [Cookie] = []
        /// Cookies for the store.
        package var intoStore: [Cookie] = []
        /// Places that are to be empty in the store.
        package var outOfStore: [CookiePlace] = []
        /// Whether this is the first round: what is in the store was there before this session.
        package var isFirst = false

        package init() {}

        /// Whether nothing is to be done.
        package var isEmpty: Bool {
            intoJar.isEmpty && outOfJar.isEmpty && intoStore.isEmpty && outOfStore.isEmpty
        }
    }

    private struct Sides: Sendable {
        var jar: Cookie?
        var store: Cookie?
    }

    private let truth: Side
    private let isLeftover: @Sendable (Cookie) -> Bool
    private let kept: @Sendable (Cookie) -> Cookie?
    /// What each side had at the end of the last round.
    private var known: [CookiePlace: Sides] = [:]
    /// The jar's last change in each place since then.
    private var news: [CookiePlace: CookieChange] = [:]
    private var isFirst = true

    /// Knows nothing of either side.
    ///
    /// - Parameters:
    ///   - truth: The side that is right where both changed a cookie and the times do not tell which was later.
    ///   - isLeftover: Whether a cookie that only the store has in the first round was deleted in the jar, and is deleted
    ///     in the store; else it is new.
    ///   - kept: What the store keeps of a cookie of the jar; nil: it cannot hold it. Such a cookie is to be kept out
    ///     of both sides by the caller.
    package init(
        truth: Side,
        isLeftover: @escaping @Sendable (Cookie) -> Bool = { _ in false },
        kept: @escaping @Sendable (Cookie) -> Cookie?
    ) {
        self.truth = truth
        self.isLeftover = isLeftover
        self.kept = kept
    }

    /// Takes note of a change of the jar, for the time and the cause of it.
    package mutating func note(_ change: CookieChange) {
        news[CookiePlace(change.cookie)] = change
    }

    /// Compares.
    ///
    /// - Parameters:
    ///   - jar: All cookies of the jar.
    ///   - store: All cookies of the store that have not expired.
    ///   - isHidden: Whether the store could not show a cookie in this place if it had one: then its absence means
    ///     nothing.
    package mutating func plan(
        jar: [CookiePlace: Cookie],
        store: [CookiePlace: Cookie],
        now: CookieTime,
        isHidden: (CookiePlace) -> Bool = { _ in false }
    ) -> Plan {
        var plan = Plan()
        if isFirst {
            for (place, cookie) in store where jar[place] == nil && isLeftover(cookie) {
                // As if the jar had had it.
                known[place] = Sides(jar: cookie, store: cookie)
            }
        }
        for place in Set(jar.keys).union(store.keys).union(known.keys) {
            let (mine, theirs, before) = (jar[place], store[place], known[place] ?? Sides())
            let isMineNew = mine.map(CookieContent.init) != before.jar.map(CookieContent.init)
            let isTheirsNew = theirs.map(CookieContent.init) != before.store.map(CookieContent.init)
            if !isMineNew, !isTheirsNew { continue }
            let shown = mine.flatMap(kept)
            if shown.map(CookieContent.init) == theirs.map(CookieContent.init) { continue }
            if isMineNew, !isTheirsNew || winner(place, theirs) == .jar {
                if let mine {
                    plan.intoStore.append(mine)
                } else if !isOver(before.jar, now), news[place]?.kind != .removed(.evicted) {
                    plan.outOfStore.append(place)
                }
            } else if let theirs {
                plan.intoJar.append((theirs.inheriting(from: mine, shownAs: shown), mine))
            } else if let mine, !isOver(before.store, now), !isHidden(place) {
                plan.outOfJar.append(mine)
            }
        }
        news = [:]
        plan.isFirst = isFirst
        isFirst = false
        return plan
    }

    /// Remembers how a round ended: what each side has in every place, as far as it was seen before the round or made
    /// by it.
    ///
    /// - Parameter outdated: Places that stay as they were known: somebody changed them in the jar while the round went on,
    ///   or nobody can say yet what the store has.
    package mutating func settle(
        jar: [CookiePlace: Cookie],
        store: [CookiePlace: Cookie],
        outdated: Set<CookiePlace>
    ) {
        let before = known
        known = [:]
        for place in Set(jar.keys).union(store.keys) where !outdated.contains(place) {
            known[place] = Sides(jar: jar[place], store: store[place])
        }
        for place in outdated { known[place] = before[place] }
    }

    /// Remembers what each side has in one place.
    package mutating func settle(_ place: CookiePlace, jar: Cookie?, store: Cookie?) {
        known[place] = Sides(jar: jar, store: store)
    }

    /// Which side's change counts where both have one.
    private func winner(_ place: CookiePlace, _ theirs: Cookie?) -> Side {
        // Before the first round nobody saw which came later. A deletion in the store has no time either.
        guard !isFirst, let mine = news[place]?.time, let theirs = theirs?.created, theirs != .distantPast,
            mine != theirs
        else { return truth }
        return mine > theirs ? .jar : .store
    }

    /// Whether a cookie that is gone went because its time was over, which the other side sees for itself.
    private func isOver(_ cookie: Cookie?, _ now: CookieTime) -> Bool { cookie?.isExpired(at: now) ?? false }
}

extension Cookie {
    /// The cookie with those attributes of the jar's in its place that the store cannot tell.
    ///
    /// - Parameters:
    ///   - mine: What the jar has.
    ///   - shown: What the store would show of it.
    fileprivate func inheriting(from mine: Cookie?, shownAs shown: Cookie?) -> Cookie {
        guard let mine, let shown else { return self }
        let (told, theirs) = (CookieContent(shown), CookieContent(self))
        var cookie = self
        cookie.isHostOnly = mine.isHostOnly
        if told.sameSite == theirs.sameSite { cookie.sameSite = mine.sameSite }
        if told.expires == theirs.expires { cookie.expires = mine.expires }
        return cookie
    }
}
