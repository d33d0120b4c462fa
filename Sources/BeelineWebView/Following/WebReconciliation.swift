// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Names

/// Decides what must be done so that a jar and a web store have the same cookies, where the store does what it is asked
/// late, or not at all.
///
/// What goes which way is the affair of `CookieReconciliation`. This adds the patience: what was asked of the store is
/// awaited, and asked again; what shows there meanwhile is not taken for somebody's change, unless it is one.
struct WebReconciliation {
    /// What is to be done.
    struct Plan {
        /// The jar's part; nothing of it is for the store.
        var jar = CookieReconciliation.Plan()
        /// Cookies for the store.
        var set: [Cookie] = []
        /// Cookies that are to leave it, as it shows them.
        var delete: [Cookie] = []

        var isEmpty: Bool { jar.isEmpty && self.set.isEmpty && delete.isEmpty }
    }

    /// Something that was asked of the store and does not show there yet.
    private struct Request {
        /// What the jar had when it was last asked for; nil: a deletion.
        var cookie: Cookie?
        /// What showed before.
        let base: CookieContent?
        /// What may show because of us, the last one at the end.
        var goals: [Cookie?]
        /// When it was last asked for.
        var time: Duration
    }

    private var core: CookieReconciliation
    private let configuration: WebCookieFollowing.Configuration
    private let kept: @Sendable (Cookie) -> Cookie?
    private var requests: [CookiePlace: Request] = [:]
    /// Places of cookies that the store did not take.
    private var refused: Set<CookiePlace> = []
    /// Places that this round cannot settle.
    private var unsettled: Set<CookiePlace> = []
    /// What has come to an end since the report was last taken.
    private(set) var report = WebCookieFollowing.Report()

    init(_ configuration: WebCookieFollowing.Configuration, kept: @escaping @Sendable (Cookie) -> Cookie?) {
        self.configuration = configuration
        self.kept = kept
        core = CookieReconciliation(
            truth: configuration.truth == .jar ? .jar : .store,
            isLeftover: { [configuration] _ in configuration.beginsFromJar },
            kept: kept
        )
    }

    /// Whether something that was asked for does not show yet.
    var isWaiting: Bool { !requests.isEmpty }

    /// Takes note of a change of the jar, for the time and the cause of it.
    mutating func note(_ change: CookieChange) { core.note(change) }

    /// Takes note of what the jar did, for the report.
    mutating func note(_ carried: CookieJar.Carried, rehomed: Int) {
        report.intoJar += carried.came
        report.outOfJar += carried.went
        report.refused += carried.refused
        report.rehomed += rehomed
    }

    /// Takes note of what the store threw, for the report.
    mutating func note(_ failure: WebViewError) {
        // A store that fails always says the same.
        if !report.failures.contains(failure.message) { report.failures.append(failure.message) }
    }

    /// Takes what has come to an end since this was last called.
    mutating func takeReport() -> WebCookieFollowing.Report {
        defer { report = WebCookieFollowing.Report() }
        return report
    }

    /// Compares.
    ///
    /// - Parameters:
    ///   - jar: The jar's cookies that are shared and that the store can hold.
    ///   - store: The store's cookies that are shared and have not expired.
    ///   - now: The jar's time.
    ///   - elapsed: The time since the following began.
    mutating func plan(
        jar: [CookiePlace: Cookie],
        store: [CookiePlace: Cookie],
        now: CookieTime,
        elapsed: Duration
    ) -> Plan {
        unsettled = []
        var (plan, mine, theirs) = (Plan(), jar, store)
        for (place, request) in requests where isLate(place, request, jar[place], store[place], elapsed) {
            // Ours to wait for: nobody's news.
            unsettled.insert(place)
            (mine[place], theirs[place]) = (nil, nil)
            if elapsed - request.time >= configuration.retryDelay {
                ask(for: jar[place], in: place, shows: store[place], elapsed, &plan)
            }
        }
        plan.jar = core.plan(jar: mine, store: theirs, now: now)
        for cookie in plan.jar.intoStore {
            ask(for: cookie, in: CookiePlace(cookie), shows: store[CookiePlace(cookie)], elapsed, &plan)
        }
        for place in plan.jar.outOfStore {
            if isHeld(place) {
                unsettled.insert(place)
            } else {
                ask(for: nil, in: place, shows: store[place], elapsed, &plan)
            }
        }
        (plan.jar.intoStore, plan.jar.outOfStore) = ([], [])
        return plan
    }

    /// Remembers how a round ended.
    ///
    /// - Parameters:
    ///   - jar: The jar's cookies, as `plan` got them, with what was carried over.
    ///   - store: The store's cookies, as `plan` got them.
    ///   - outdated: Places that somebody changed in the jar while the round went on.
    mutating func settle(jar: [CookiePlace: Cookie], store: [CookiePlace: Cookie], outdated: Set<CookiePlace>) {
        core.settle(jar: jar, store: store, outdated: outdated.union(unsettled))
    }

    /// Whether a request is still to be waited for. One that is not is settled by what shows.
    private mutating func isLate(
        _ place: CookiePlace,
        _ request: Request,
        _ mine: Cookie?,
        _ theirs: Cookie?,
        _ elapsed: Duration
    ) -> Bool {
        let there = theirs.map(CookieContent.init)
        let goal = request.goals.last ?? nil
        if there == goal.map(CookieContent.init) {
            if request.cookie == nil { report.outOfStore += 1 } else { report.intoStore += 1 }
            end(place, jar: request.cookie, store: theirs)
            return false
        }
        let isOurs = there == request.base || request.goals.contains { $0.map(CookieContent.init) == there }
        guard isOurs else {
            // Somebody changed it after we did.
            end(place, jar: request.cookie, store: goal)
            return false
        }
        guard request.goals.count >= configuration.attempts, elapsed - request.time >= configuration.retryDelay else {
            return true
        }
        // It stays as it is until it changes on either side.
        if let cookie = request.cookie ?? theirs { report.unfinished.append(cookie) }
        end(place, jar: request.cookie, store: theirs)
        if request.cookie != nil { refused.insert(place) }
        return false
    }

    private mutating func end(_ place: CookiePlace, jar: Cookie?, store: Cookie?) {
        requests[place] = nil
        core.settle(place, jar: jar, store: store)
    }

    /// Asks the store for what the jar has, for the first time or again.
    private mutating func ask(
        for cookie: Cookie?,
        in place: CookiePlace,
        shows theirs: Cookie?,
        _ elapsed: Duration,
        _ plan: inout Plan
    ) {
        unsettled.insert(place)
        refused.remove(place)
        let goal = cookie.flatMap(kept)
        let there = theirs.map(CookieContent.init)
        var request = requests[place] ?? Request(cookie: cookie, base: there, goals: [], time: elapsed)
        (request.cookie, request.time) = (cookie, elapsed)
        request.goals.append(goal)
        requests[place] = request
        if goal.map(CookieContent.init) == there { return }
        if let cookie {
            plan.set.append(cookie)
        } else if let theirs {
            plan.delete.append(theirs)
        }
    }

    /// Whether a deletion has to wait: what was filed under an address goes only when the store has it under its host.
    private func isHeld(_ place: CookiePlace) -> Bool {
        guard (try? Host(place.domain))?.address != nil else { return false }
        let isSame = { (other: CookiePlace) in other.name == place.name && other.path == place.path && other != place }
        return refused.contains(where: isSame) || requests.contains { $0.value.cookie != nil && isSame($0.key) }
    }
}
