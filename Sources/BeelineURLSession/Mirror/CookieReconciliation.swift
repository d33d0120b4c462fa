// SPDX-License-Identifier: Apache-2.0

import CookieJar

/// Decides what must be done so that a jar and a storage have the same cookies.
///
/// It remembers what each side had when they last agreed, and compares: what differs on one side was changed there and
/// goes to the other, so nothing that was carried over comes back as news. Each round has three steps: `note` what the jar
/// tells, `plan`, and, when that is done, `settle` with what both sides then have.
struct CookieReconciliation {
    /// What is to be done, place by place.
    struct Plan {
        /// Cookies for the jar, each with what the jar is expected to have in its place.
        var intoJar: [(new: Cookie, old: Cookie?)] = []
        /// Cookies that leave the jar.
        var outOfJar: [Cookie] = []
        /// Cookies for the storage.
        var intoStorage: [Cookie] = []
        /// Places that are to be empty in the storage.
        var outOfStorage: [CookiePlace] = []
        /// Whether this is the first round: what is in the storage was there before this session.
        var isFirst = false
    }

    private struct Sides {
        var jar: Cookie?
        var storage: Cookie?
    }

    private let truth: CookieStorageMirror.Truth
    /// Whether the storage keeps cookies under ``CookiePlace/joined``.
    private let joinsPlaces: Bool
    /// What each side had at the end of the last round.
    private var known: [CookiePlace: Sides] = [:]
    /// The jar's last change in each place since then.
    private var news: [CookiePlace: CookieChange] = [:]
    private var isFirst = true

    init(truth: CookieStorageMirror.Truth, joinsPlaces: Bool) {
        self.truth = truth
        self.joinsPlaces = joinsPlaces
    }

    /// Takes note of a change of the jar, for the time and the cause of it.
    mutating func note(_ change: CookieChange) {
        guard let place = CookiePlace(change.cookie) else { return }
        news[place] = change
    }

    /// Compares.
    ///
    /// - Parameters:
    ///   - jar: All cookies of the jar.
    ///   - storage: All cookies of the storage that have not expired.
    mutating func plan(jar: [CookiePlace: Cookie], storage: [CookiePlace: Cookie], now: CookieTime) -> Plan {
        var plan = Plan()
        let joined = joinsPlaces ? Set(storage.keys.map(\.joined)) : []
        for place in Set(jar.keys).union(storage.keys).union(known.keys) {
            let (mine, theirs, before) = (jar[place], storage[place], known[place] ?? Sides())
            let isMineNew = mine.map(CookieContent.init) != before.jar.map(CookieContent.init)
            let isTheirsNew = theirs.map(CookieContent.init) != before.storage.map(CookieContent.init)
            if !isMineNew, !isTheirsNew { continue }
            if mine.map({ CookieContent($0).inFoundation }) == theirs.map({ CookieContent($0) }) { continue }
            if isMineNew, !isTheirsNew || winner(place, theirs) == .jar {
                if let mine {
                    plan.intoStorage.append(mine)
                } else if !isOver(before.jar, now), news[place]?.kind != .removed(.evicted) {
                    plan.outOfStorage.append(place)
                }
            } else if let theirs {
                plan.intoJar.append((theirs.inheriting(from: mine), mine))
            } else if let mine, !isOver(before.storage, now), !joined.contains(place.joined) {
                plan.outOfJar.append(mine)
            }
        }
        news = [:]
        plan.isFirst = isFirst
        isFirst = false
        return plan
    }

    /// Remembers how a round ended: what each side has in every place, as far as it was seen before the round or made by it.
    ///
    /// - Parameter outdated: Places that somebody changed in the jar while the round went on: they stay as they were known.
    mutating func settle(jar: [CookiePlace: Cookie], storage: [CookiePlace: Cookie], outdated: Set<CookiePlace>) {
        let before = known
        known = [:]
        for place in Set(jar.keys).union(storage.keys) where !outdated.contains(place) {
            known[place] = Sides(jar: jar[place], storage: storage[place])
        }
        for place in outdated { known[place] = before[place] }
    }

    /// Which side's change counts where both have one.
    private func winner(_ place: CookiePlace, _ theirs: Cookie?) -> CookieStorageMirror.Truth {
        // Before the first round nobody saw which came later. A deletion in the storage has no time either.
        guard !isFirst, let mine = news[place]?.time, let theirs = theirs?.created, mine != theirs else { return truth }
        return mine > theirs ? .jar : .storage
    }

    /// Whether a cookie that is gone went because its time was over, which the other side sees for itself.
    private func isOver(_ cookie: Cookie?, _ now: CookieTime) -> Bool { cookie?.isExpired(at: now) ?? false }
}

extension Cookie {
    /// The cookie with those attributes of the one in its place that Foundation cannot tell.
    fileprivate func inheriting(from old: Cookie?) -> Cookie {
        guard let old else { return self }
        var cookie = self
        cookie.isHostOnly = old.isHostOnly
        if old.sameSite.inFoundation == sameSite { cookie.sameSite = old.sameSite }
        return cookie
    }
}
