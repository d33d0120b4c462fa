// SPDX-License-Identifier: Apache-2.0

/// Decides how to make a jar and another cookie store equal.
///
/// It remembers the cookies of both sides when they last agreed. A difference on one side is a change there and is copied to the
/// other side, so a copied change does not come back as a new one. Each round has three steps: `note` the changes of the jar,
/// `plan`, and after applying the plan, `settle` with the resulting cookies of both sides.
package struct CookieReconciliation: Sendable {
    /// A side of the comparison.
    package enum Side: Hashable, Sendable {
        case jar, store
    }

    /// The actions of a round, place by place.
    package struct Plan: Sendable {
        /// Cookies to store in the jar, each with the cookie that the jar is expected to have in its place.
        package var intoJar: [(new: Cookie, old: Cookie?)] = []
        /// Cookies to delete from the jar.
        package var outOfJar: [Cookie] = []
        /// Cookies to store in the store.
        package var intoStore: [Cookie] = []
        /// Places to clear in the store.
        package var outOfStore: [CookiePlace] = []
        /// Whether this is the first round. The store's cookies are then from before this session.
        package var isFirst = false

        package init() {}

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
    /// The cookies of both sides at the end of the last round.
    private var known: [CookiePlace: Sides] = [:]
    /// The jar's last change in each place since the last round.
    private var news: [CookiePlace: CookieChange] = [:]
    private var isFirst = true

    /// Makes a reconciliation without knowledge of either side.
    ///
    /// - Parameters:
    ///   - truth: The side that wins if both changed a cookie and the times do not tell which change was later.
    ///   - isLeftover: Whether a cookie that only the store has in the first round was deleted in the jar. If true, it is deleted
    ///     in the store. If false, it is new.
    ///   - kept: Returns the part of a jar's cookie that the store keeps. Nil if the store cannot hold the cookie. The caller
    ///     must then exclude the cookie from both sides.
    package init(
        truth: Side,
        isLeftover: @escaping @Sendable (Cookie) -> Bool = { _ in false },
        kept: @escaping @Sendable (Cookie) -> Cookie?
    ) {
        self.truth = truth
        self.isLeftover = isLeftover
        self.kept = kept
    }

    /// Records a change of the jar for its time and cause.
    package mutating func note(_ change: CookieChange) {
        news[CookiePlace(change.cookie)] = change
    }

    /// Compares both sides and makes a plan.
    ///
    /// - Parameters:
    ///   - jar: All cookies of the jar.
    ///   - store: All unexpired cookies of the store.
    ///   - isHidden: Whether the store could not report a cookie in this place. A missing cookie then does not mean that it was
    ///     deleted.
    package mutating func plan(
        jar: [CookiePlace: Cookie],
        store: [CookiePlace: Cookie],
        now: CookieTime,
        isHidden: (CookiePlace) -> Bool = { _ in false }
    ) -> Plan {
        var plan = Plan()
        if isFirst {
            for (place, cookie) in store where jar[place] == nil && isLeftover(cookie) {
                // Treats the cookie as if the jar had contained it.
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

    /// Records the result of a round: the cookies of both sides, as they were seen before the round or changed by it.
    ///
    /// - Parameter outdated: Places that keep their earlier record, because another source changed them in the jar during the
    ///   round, or the state of the store is not known yet.
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

    /// Records the cookies of both sides in one place.
    package mutating func settle(_ place: CookiePlace, jar: Cookie?, store: Cookie?) {
        known[place] = Sides(jar: jar, store: store)
    }

    /// The side whose change wins if both sides changed a place.
    private func winner(_ place: CookiePlace, _ theirs: Cookie?) -> Side {
        // Before the first round the order of changes is unknown. A deletion in the store has no time either.
        guard !isFirst, let mine = news[place]?.time, let theirs = theirs?.created, theirs != .distantPast,
            mine != theirs
        else { return truth }
        return mine > theirs ? .jar : .store
    }

    /// Whether a missing cookie has expired. The other side then removes it without help.
    private func isOver(_ cookie: Cookie?, _ now: CookieTime) -> Bool { cookie?.isExpired(at: now) ?? false }
}

extension Cookie {
    /// The cookie, with the attributes that the store cannot report taken from the jar's cookie in its place.
    ///
    /// - Parameters:
    ///   - mine: The cookie of the jar.
    ///   - shown: The part of it that the store would report.
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
