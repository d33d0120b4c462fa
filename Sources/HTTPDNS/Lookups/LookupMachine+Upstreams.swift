// SPDX-License-Identifier: Apache-2.0

import Names

/// A question for several names to a ``BatchUpstream``. Its answers belong to the network in which it was asked.
struct BatchQuestion: Sendable {
    let upstream: Int
    let families: Families
    let scope: CacheScope
    let network: String
    /// The ``UpstreamHealth/generation`` when the question was asked.
    let generation: Int
}

/// Which upstreams are asked for a name, and what is learned from batches and connection attempts.
extension LookupMachine {
    /// The upstreams to ask for a name.
    struct Route {
        var candidates: [Int]
        /// An upstream to ask in addition, only to check whether it works again.
        var probe: Int?
        var scope: CacheScope
        /// Whether the name is for the system. Answers of the system are then not checked.
        var isTrusted = false
    }

    /// Whether the upstreams are used: both switches are on.
    var isOn: Bool { isEnabled && remote.document?.isEnabled ?? true }

    /// Whether a name goes to the upstreams now.
    func isForUpstreams(_ host: Host) -> Bool { isOn && policy.isForUpstreams(host) }

    /// The scope for new answers.
    var scope: CacheScope { isOn ? scopes.current : .system }

    /// Whether a name that is in no table and not in the cache can be looked up: an upstream is neither down nor
    /// paused.
    func canAsk(now: Moment) -> Bool {
        guard !isClosed else { return false }
        guard isOn, !configuration.upstreams.isEmpty else { return configuration.system != nil }
        let asked = notTables
        return asked.isEmpty || asked.contains { !health.isDown($0, now: now) }
    }

    /// Whether an upstream is a table that the user wrote. A table says nothing about other names, and is never down.
    func isTable(_ upstream: Int) -> Bool { upstreams[upstream].kind == .fixed }

    private var tables: [Int] { configuration.upstreams.indices.filter { isTable($0) } }

    private var notTables: [Int] { configuration.upstreams.indices.filter { !isTable($0) } }

    /// Asks an upstream that is due for a probe, if all are down.
    mutating func probe(now: Moment) {
        guard isOn, !isClosed, !canAsk(now: now),
            let upstream = health.choose(among: notTables, now: now).upstreams.first
        else { return }
        askForKnownName(upstream, now: now)
    }

    /// Asks an upstream that has failed for another name if all upstreams are now down, at most once a second. A name whose
    /// own servers are silent, or whose answer does not arrive whole, looks like an upstream that is down. A program that asks
    /// for it again and again would otherwise take every probe, and other names would get no answer. Names that are asked before
    /// the upstream answers still fail.
    mutating func checkOutage(of upstream: Int, in scope: CacheScope, now: Moment) {
        // The scopes of probes are not kept: a probe that fails starts no further one.
        guard isOn, !isClosed, scope.isKept, notTables.contains(upstream), !canAsk(now: now),
            now - outageCheckedAt >= .seconds(1)
        else { return }
        outageCheckedAt = now
        askForKnownName(upstream, now: now)
    }

    /// A name that every resolver knows. The name policy does not apply to it: it belongs to the DNS itself.
    static let knownName = try? Host("a.root-servers.net")

    private mutating func askForKnownName(_ upstream: Int, now: Moment) {
        guard let host = Self.knownName else { return }
        startProbe(of: upstream, with: LookupRequest(host: host, families: .v4), now: now)
    }

    /// Chooses the upstreams for a name, and the probe that is due.
    mutating func route(to host: Host, now: Moment) -> Route {
        let count = configuration.upstreams.count
        let system = configuration.system == nil ? [] : [count]
        guard isOn else { return Route(candidates: system, scope: .system, isTrusted: true) }
        guard policy.isForUpstreams(host) else {
            // A table that the user wrote sends the name to no service.
            return Route(candidates: tables + system, scope: scopes.current, isTrusted: true)
        }
        if count == 0 { return Route(candidates: system, scope: scopes.current) }
        // Tables are not counted: they must not keep the only service that is due from being asked.
        let others = notTables
        let health = health
        let order = configuration.order
            .arrange(others.count, roundTrip: { health.roundTrip(others[$0]) }, random: random)
        let choice = self.health.choose(among: order.map { others[$0] }, now: now)
        let candidates =
            configuration.order.asksTablesFirst
            ? tables + choice.upstreams
            : (0..<count).filter { isTable($0) || choice.upstreams.contains($0) }
        return Route(candidates: candidates, probe: choice.probe, scope: scopes.current)
    }

    /// Whether an upstream is a service that must not be asked for a name now.
    func isDenied(_ host: Host, to upstream: Int) -> Bool {
        upstreams[upstream].kind == .service && !policy.isForUpstreams(host)
    }

    /// The plan for asking the upstreams of a route.
    func plan(for route: Route) -> UpstreamSchedule.Plan {
        // If the network drops all packets to the first upstreams, the last one is still asked in time.
        let services = route.candidates.filter { !isTable($0) }.count
        let turn = configuration.limits.total / max(1, services)
        let candidates = route.candidates.map { index in
            var candidate = UpstreamSchedule.Candidate(
                upstream: index,
                answersOneFamily: upstreams[index].answersOneFamily,
                budget: configuration.limits.upstream
            )
            // A name in a table is sent to no service, however long the table takes.
            guard !isTable(index) else { return candidate }
            if configuration.order == .hedge {
                let usual = health.usualTime(index) ?? UpstreamOrder.firstHedge
                candidate.hedgeAfter = min(max(usual, UpstreamOrder.shortestHedge), turn)
            } else if turn < configuration.limits.upstream {
                candidate.hedgeAfter = turn
            }
            return candidate
        }
        var plan = UpstreamSchedule.Plan(
            candidates: candidates,
            limit: configuration.limits.total,
            resolutionDelay: configuration.limits.resolutionDelay,
            reachable: ranking.network.reachableFamilies
        )
        guard case .race(let width) = configuration.order.kind else { return plan }
        let tableCount = candidates.prefix { isTable($0.upstream) }.count
        if tableCount == 0 {
            plan.atOnce = width
        } else {
            // The race begins after the tables: each of its upstreams is followed by the next without a pause.
            for index in candidates.indices.dropFirst(tableCount).prefix(width - 1) {
                plan.candidates[index].hedgeAfter = .zero
            }
        }
        return plan
    }

    // MARK: Questions for several names

    /// The question that may be asked for several names now: to an upstream, or to the first one that is up. Nil while
    /// the resolver is off or shut down, and if tables come first, because a name in a table is sent to no service.
    func batch(of upstream: Int?, families: Families, now: Moment) -> BatchQuestion? {
        let indices = configuration.upstreams.indices
        guard isOn, !isClosed, !configuration.order.asksTablesFirst || notTables.count == indices.count,
            let upstream = upstream ?? indices.first(where: { !health.isDown($0, now: now) })
        else { return nil }
        return BatchQuestion(
            upstream: upstream,
            families: families,
            scope: scope,
            network: ranking.network.id,
            generation: health.generation
        )
    }

    mutating func batchAnswered(
        _ batch: BatchQuestion,
        with result: Result<[Host: Answer], UpstreamError>,
        now: Moment
    ) {
        switch result {
        case .success(let found):
            for (host, answer) in found where !isDenied(host, to: batch.upstream) {
                answers.keep(answer, of: host, from: batch, now: now)
            }
        case .failure(let error):
            if batch.generation == health.generation { health.failed(batch.upstream, with: error, now: now) }
        }
    }

    // MARK: Attempts

    mutating func attemptEnded(_ outcome: AttemptOutcome, at endpoint: Endpoint, of host: Host, now: Moment) {
        switch outcome {
        case .connected(let time): ranking.succeeded(endpoint, after: time, now: now)
        case .failed: ranking.failed(endpoint, now: now)
        }
        guard host.address == nil,
            answers.attemptEnded(
                at: endpoint,
                of: host,
                hasFailed: outcome == .failed,
                now: now,
                ranking: ranking
            )
        else { return }
        let request = LookupRequest(host: host, families: configuration.families)
        // A lookup that has delivered one family still asks for the other.
        if let id = lookups[LookupKey(request, scope: scope)],
            lookups.change(id, { $0.schedule.deliveredFailed() }) == true
        {
            return
        }
        lookUp(request, for: nil, checksCache: false, isFresh: true, now: now)
    }
}
