// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Names

/// Plans the changes that give a jar and a web store the same cookies, if the store makes changes late or never.
///
/// `CookieReconciliation` decides the direction of each change. This type adds waiting: it repeats requests until the store
/// shows them, and does not mistake their effects for changes by other code.
struct WebReconciliation {
    /// The changes to make.
    struct Plan {
        /// The changes of the jar only.
        var jar = CookieReconciliation.Plan()
        /// Cookies to set in the store.
        var set: [Cookie] = []
        /// Cookies to delete from the store, as the store shows them.
        var delete: [Cookie] = []

        var isEmpty: Bool { jar.isEmpty && self.set.isEmpty && delete.isEmpty }
    }

    /// A change that the store does not show yet.
    private struct Request {
        /// The jar's cookie at the last request; `nil` for a deletion.
        var cookie: Cookie?
        /// The content that the store showed before.
        let base: CookieContent?
        /// The contents that the requests may produce, the latest last.
        var goals: [Cookie?]
        /// The time of the last request.
        var time: Duration
    }

    private var core: CookieReconciliation
    private let configuration: WebCookieFollowing.Configuration
    private let kept: @Sendable (Cookie) -> Cookie?
    private var requests: [CookiePlace: Request] = [:]
    /// Places of cookies that the store rejected.
    private var refused: Set<CookiePlace> = []
    /// Whether the store had cookies at the end of the last round.
    private(set) var hadCookies = false
    /// Places that this round cannot settle.
    private var unsettled: Set<CookiePlace> = []
    /// The completed changes and failures since the last report.
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

    /// Whether the store does not show all requested changes yet.
    var isWaiting: Bool { !requests.isEmpty }

    /// Records the time and cause of a change of the jar.
    mutating func note(_ change: CookieChange) { core.note(change) }

    /// Adds the changes of the jar to the report.
    mutating func note(_ carried: CookieJar.Carried, rehomed: Int) {
        report.intoJar += carried.added
        report.outOfJar += carried.removed
        report.refused += carried.refused
        report.rehomed += rehomed
    }

    /// Adds an error of the store to the report.
    mutating func note(_ failure: WebViewError) {
        // A failing store throws the same error each time.
        if !report.failures.contains(failure.message) { report.failures.append(failure.message) }
    }

    /// Returns the report and starts a new one.
    mutating func takeReport() -> WebCookieFollowing.Report {
        defer { report = WebCookieFollowing.Report() }
        return report
    }

    /// Compares both sides and plans the next changes.
    ///
    /// - Parameters:
    ///   - jar: The jar's cookies that are shared and that the store can hold.
    ///   - store: The store's cookies that are shared and not expired.
    ///   - now: The time of the jar.
    ///   - elapsed: The time since the following started.
    mutating func plan(
        jar: [CookiePlace: Cookie],
        store: [CookiePlace: Cookie],
        now: CookieTime,
        elapsed: Duration
    ) -> Plan {
        unsettled = []
        var (plan, mine, theirs) = (Plan(), jar, store)
        for (place, request) in requests
        where isPending(place, request: request, store: store[place], elapsed: elapsed) {
            // A pending request of ours, not a change by other code.
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

    /// Records the state at the end of a round.
    ///
    /// - Parameters:
    ///   - jar: The jar's cookies that were passed to `plan`, with the changes of this round.
    ///   - store: The store's cookies that were passed to `plan`.
    ///   - outdated: Places that other code changed in the jar during the round.
    mutating func settle(jar: [CookiePlace: Cookie], store: [CookiePlace: Cookie], outdated: Set<CookiePlace>) {
        hadCookies = !store.isEmpty
        core.settle(jar: jar, store: store, outdated: outdated.union(unsettled))
    }

    /// Whether to keep waiting for a request. If not, the shown cookie settles it.
    private mutating func isPending(
        _ place: CookiePlace,
        request: Request,
        store theirs: Cookie?,
        elapsed: Duration
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
            // Other code changed the cookie after our request.
            end(place, jar: request.cookie, store: goal)
            return false
        }
        guard request.goals.count >= configuration.attempts, elapsed - request.time >= configuration.retryDelay else {
            return true
        }
        // Gives up: the place stays as it is until either side changes.
        if let cookie = request.cookie ?? theirs { report.unfinished.append(cookie) }
        end(place, jar: request.cookie, store: theirs)
        if request.cookie != nil { refused.insert(place) }
        return false
    }

    private mutating func end(_ place: CookiePlace, jar: Cookie?, store: Cookie?) {
        requests[place] = nil
        core.settle(place, jar: jar, store: store)
    }

    /// Requests the jar's cookie from the store, for the first time or again.
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

    /// Whether a deletion must wait: a cookie of an address is deleted only when the store has it under the host.
    private func isHeld(_ place: CookiePlace) -> Bool {
        guard (try? Host(place.domain))?.address != nil else { return false }
        let isSame = { (other: CookiePlace) in other.name == place.name && other.path == place.path && other != place }
        return refused.contains(where: isSame) || requests.contains { $0.value.cookie != nil && isSame($0.key) }
    }
}
