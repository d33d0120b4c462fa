// SPDX-License-Identifier: Apache-2.0

import Names

/// Decides everything that concerns more than one lookup: who shares a lookup, which upstreams are asked, what is
/// cached, and when a caller gets which result. A value without locks, clocks and I/O; ``Resolver`` drives it.
///
/// The life of a lookup:
/// 1. ``cached(_:port:now:countsMisses:)`` finds no answer, and the caller waits: ``Event/asked(_:by:isFresh:)``.
/// 2. The caller joins the lookup of the name, or the machine plans one and asks the first upstreams
///    (``Action/ask(_:)``).
/// 3. Each answer (``Event/answered(_:_:after:)``) and each planned time (``Event/timePassed``) is passed to
///    the ``UpstreamSchedule`` of the lookup. It asks and cancels further upstreams, until it has an outcome.
/// 4. The outcome is stored in ``answers``, and the callers get it (``Action/resume(_:_:)``).
struct LookupMachine {
    /// The inputs of the machine.
    enum Event {
        // Lookups
        /// A caller waits for a name. `isFresh`: the cache and shared answers are ignored.
        case asked(LookupRequest, by: CallerID, isFresh: Bool)
        /// A caller waits for an origin. After the first usable address it waits at most `delay` for the HTTPS records.
        case askedOrigin(OriginRequest, by: CallerID, isFresh: Bool, delay: Duration)
        /// The HTTPS records of an origin or the addresses of their targets have expired, and should be cached for the
        /// next caller.
        case servicesMissed(OriginRequest)
        /// No endpoint of the HTTPS records of an origin could be reached.
        case servicesFailed(OriginRequest)
        /// An upstream answered a question for HTTPS records or failed.
        case servicesAnswered(PendingServiceQuestion.ID, Result<ServiceReply, UpstreamError>)
        /// A caller no longer waits.
        case cancelled(CallerID)
        /// A name was not in the cache, and its answer should be cached for the next caller.
        case missed(LookupRequest)
        /// A cached answer is in frequent use and about to expire.
        case refreshDue(LookupRequest)
        /// An upstream answered or failed. `after`: its response time; nil: the answer is from another resolver.
        case answered(UpstreamQuestion, Result<Answer, UpstreamError>, after: Duration?)
        /// An upstream answered several names, or failed.
        case batchAnswered(BatchQuestion, Result<[Host: Answer], UpstreamError>)
        /// The moment of the last ``Action/wake(at:)`` has come.
        case timePassed

        // Changes around the lookups
        /// A connection attempt to an endpoint of a name ended.
        case attemptEnded(AttemptOutcome, at: Endpoint, of: Host)
        /// The machine is in another network.
        case networkChanged(Network)
        /// The NAT64 prefixes of a network were found.
        case nat64Found([NAT64Prefix], in: Network)
        /// A name was answered again after a network change.
        case answeredAgain(Host)
        /// The program turned the resolver on or off.
        case switched(on: Bool)
        /// The remote switch returned a document, at this number of seconds since 1970.
        case documentReceived(RemoteDocument, wall: Int64)
        /// The remote switch returned no document.
        case documentMissed
        /// The document of the remote switch may have expired, at this number of seconds since 1970.
        case documentChecked(wall: Int64)
        /// The store returned answers, at this number of seconds since 1970.
        case restored([StoredAnswer], wall: Int64)
        /// A name is removed from the cache, or all names.
        case forgotten(Host?)
        /// The resolver is shut down.
        case closed
    }

    /// The outputs of the machine. The driver performs them in this order and outside its lock.
    enum Action {
        /// Ask an upstream.
        case ask(UpstreamQuestion)
        /// Cancel a question.
        case stopAsking(UpstreamQuestion.ID)
        /// Ask an upstream for HTTPS records.
        case askServices(PendingServiceQuestion)
        /// Cancel a question for HTTPS records.
        case stopAskingServices(PendingServiceQuestion.ID)
        /// Give callers the result of their lookup.
        case resume([CallerID], Result<LookupResult, ResolutionError>)
        /// Report ``Event/timePassed`` at this moment instead of a later one.
        case wake(at: Moment)
        /// Tell the upstreams and the program about the network.
        case announce(Network)
    }

    let configuration: ResolverConfiguration
    /// The upstreams, and the system last.
    let upstreams: [UpstreamProfile]
    /// A random number in 0..<1.
    let random: @Sendable () -> Double

    /// The cache.
    var answers: CachedAnswers
    var lookups = OngoingLookups()
    /// The lookups of HTTPS records.
    var services = ServiceLookups()
    /// The upstreams that drop questions for HTTPS records.
    var silence = ServiceSilence()
    /// The callers that wait for origins.
    var origins = OriginLookups()
    var health: UpstreamHealth
    /// The response times of ``upstreams``.
    private(set) var times: [UpstreamTimes]
    var ranking: EndpointRanking
    /// The switch of this program.
    var isEnabled = true
    /// The remote switch.
    var remote = RemoteState()
    /// The name policy that results from the configuration and the remote switch.
    var policy: NamePolicy
    /// The networks with cached answers.
    var scopes = CacheScopeTable()
    /// Names that were in use and have not been answered since the network changed.
    var unanswered: [Host] = []
    private(set) var isClosed = false
    /// The moment of the last ``Action/wake(at:)``.
    private var wakesAt = Moment.never
    /// The actions of the present event.
    var actions: [Action] = []

    init(_ configuration: ResolverConfiguration, random: @escaping @Sendable () -> Double) {
        self.configuration = configuration
        self.random = random
        let system = configuration.system ?? FixedUpstream(HostsTable(), name: "none")
        upstreams = (configuration.upstreams + [system]).map { UpstreamProfile($0) }
        answers = CachedAnswers(configuration, upstreams: upstreams, scope: scopes.current)
        health = UpstreamHealth(count: upstreams.count, limits: configuration.healthLimits)
        times = Array(repeating: UpstreamTimes(), count: upstreams.count)
        ranking = EndpointRanking(limits: configuration.rankingLimits)
        policy = configuration.names
    }

    /// Handles an event.
    mutating func handle(_ event: Event, now: Moment) -> [Action] {
        switch event {
        case .asked(let request, let caller, let isFresh):
            lookUp(request, for: caller, checksCache: !isFresh, isFresh: isFresh, now: now)
        case .askedOrigin(let request, let caller, let isFresh, let delay):
            lookUp(request, for: caller, isFresh: isFresh, delay: delay, now: now)
        case .servicesMissed(let request): servicesMissed(request, now: now)
        case .servicesFailed(let request):
            let families = request.addresses.families
            answers.expireServices(of: request.service, families: families, scope: scope, now: now)
        case .servicesAnswered(let id, let result): servicesAnswered(id, with: result, now: now)
        case .cancelled(let caller): cancelled(caller)
        case .missed(let request): lookUp(request, for: nil, checksCache: true, isFresh: false, now: now)
        case .refreshDue(let request):
            lookUp(request, for: nil, checksCache: false, isFresh: false, now: now)
            refreshServices(of: request, now: now)
        case .answered(let question, let result, let time): answered(question, with: result, after: time, now: now)
        case .batchAnswered(let batch, let result): batchAnswered(batch, with: result, now: now)
        case .timePassed: timePassed(now: now)
        case .attemptEnded(let outcome, let endpoint, let host): attemptEnded(outcome, at: endpoint, of: host, now: now)
        case .networkChanged(let network): networkChanged(to: network)
        case .nat64Found(let prefixes, let network): nat64Found(prefixes, in: network)
        case .answeredAgain(let host): unanswered.removeAll { $0 == host }
        case .switched(let isOn): switched(on: isOn)
        case .documentReceived(let document, let wall): documentReceived(document, wall: wall)
        case .documentMissed: remote.failed()
        case .documentChecked(let wall): documentChecked(wall: wall)
        case .restored(let stored, let wall):
            for answer in stored { answers.restore(answer, scopes: &scopes, wall: wall, now: now) }
        case .forgotten(let host?): answers.forget(host)
        case .forgotten(nil): answers.cache.removeAll()
        case .closed: close()
        }
        settleOrigins(now: now)
        defer { actions = [] }
        return actions
    }

    // MARK: The cache

    /// The cached answer of a name. Not an event, because it has no action: a lookup that finds an answer allocates
    /// nothing, and programs make millions of them per second.
    mutating func cached(
        _ request: LookupRequest,
        port: UInt16,
        now: Moment,
        countsMisses: Bool = true
    ) -> CachedAnswers.Found {
        answers.find(request, port: port, now: now, ranking: ranking, countsMisses: countsMisses)
    }

    /// The resolution of a lookup's result, for one caller.
    func resolution(
        of result: LookupResult,
        for request: LookupRequest,
        port: UInt16
    ) throws(ResolutionError) -> Resolution {
        let ordered = result.entry.ordered(request.families, port: port, now: result.time, by: ranking).addresses
        guard !ordered.isEmpty else { throw .absent(request, entry: result.entry) }
        return Resolution(
            of: result.entry,
            addresses: ordered,
            source: result.source,
            request: request,
            port: port,
            answer: result.answer,
            plan: result.plan,
            now: result.time
        )
    }

    // MARK: A lookup starts

    /// Lets a caller join the lookup of a name, or starts a lookup. Without a caller, the answer is for the cache.
    ///
    /// - Parameters:
    ///   - checksCache: Whether to use a cached result. A lookup may have ended since the caller missed the cache.
    ///   - isFresh: Whether shared answers are ignored.
    mutating func lookUp(
        _ request: LookupRequest,
        for caller: CallerID?,
        checksCache: Bool,
        isFresh: Bool,
        now: Moment
    ) {
        guard !isClosed else {
            return refuse(caller, with: .shutDown, message: "\(request.host): the resolver was shut down")
        }
        let known =
            checksCache || caller != nil ? answers.cachedResult(for: request, now: now) : (result: nil, isUsable: false)
        let staleAt = known.isUsable ? now + configuration.cache.staleAnswerDelay : .never
        // A lookup that has delivered one family continues for the other, and the cache has the first.
        if checksCache, case .success(let found)? = known.result, found.entry.expiry(of: request.families) > now {
            return resume([caller].compactMap { $0 }, with: .success(found))
        }
        if let lookup = lookups[LookupKey(request, scope: scope)], !endIfAnswered(lookup, isFresh: isFresh) {
            return join(lookup, caller: caller, staleAt: staleAt, now: now)
        }
        if checksCache, let result = known.result { return resume([caller].compactMap { $0 }, with: result) }
        guard lookups.count < configuration.limits.maxLookups else {
            let count = configuration.limits.maxLookups
            return refuse(
                caller,
                with: .tooManyLookups,
                message: "\(request.host): \(count) names are being looked up already"
            )
        }
        let route = route(to: request.host, now: now)
        let (lookup, first) = start(request, by: route, isFresh: isFresh, now: now)
        join(lookup, caller: caller, staleAt: staleAt, now: now)
        perform(first, of: lookup, now: now)
        if let probe = route.probe { startProbe(of: probe, with: request, now: now) }
    }

    /// Ends a lookup that has delivered an answer, if a fresh one is wanted and no caller waits for the rest.
    private mutating func endIfAnswered(_ lookup: LookupID, isFresh: Bool) -> Bool {
        guard isFresh, let old = lookups[lookup], old.schedule.hasAnswer, old.callers.isEmpty else { return false }
        return remove(lookup) != nil
    }

    /// Adds a caller to a lookup; without a caller, the lookup continues for the cache.
    private mutating func join(_ lookup: LookupID, caller: CallerID?, staleAt: Moment, now: Moment) {
        guard let caller else {
            lookups.change(lookup) { $0.isForCache = true }
            return
        }
        lookups.change(lookup) { $0.schedule.callerJoined(now: now) }
        lookups.add(caller, to: lookup, staleAt: staleAt)
        wake(for: lookup)
    }

    private mutating func start(
        _ request: LookupRequest,
        by route: Route,
        isFresh: Bool,
        now: Moment
    ) -> (lookup: LookupID, first: [UpstreamSchedule.Action]) {
        let context = LookupContext(
            request: request,
            scope: route.scope,
            network: ranking.network.id,
            isTrusted: route.isTrusted,
            isFresh: isFresh,
            generation: health.generation
        )
        var schedule = UpstreamSchedule(plan(for: route), families: request.families, now: now)
        let first = schedule.start(now: now).actions
        let key = LookupKey(request, scope: route.scope)
        return (lookups.start(Lookup(key: key, context: context, schedule: schedule)), first)
    }

    /// Asks an upstream that is down, only to see whether it works again.
    private mutating func startProbe(of upstream: Int, with request: LookupRequest, now: Moment) {
        let route = Route(candidates: [upstream], scope: .probe(upstream))
        // The last probe may still be waiting.
        guard lookups[LookupKey(request, scope: route.scope)] == nil else { return }
        let (lookup, first) = start(request, by: route, isFresh: true, now: now)
        join(lookup, caller: nil, staleAt: .never, now: now)
        perform(first, of: lookup, now: now)
    }

    // MARK: A lookup goes on

    /// Passes the result of a question to its lookup.
    private mutating func answered(
        _ question: UpstreamQuestion,
        with result: Result<Answer, UpstreamError>,
        after time: Duration?,
        now: Moment
    ) {
        let (upstream, families) = (question.id.upstream, question.id.families)
        let event: UpstreamSchedule.Event =
            switch result {
            case .success(let answer): .answered(upstream: upstream, families, answer)
            case .failure(let error): .failed(upstream: upstream, families, error)
            }
        if let time {
            let isAnswer = if case .success = result { true } else { false }
            times[upstream].record(time, isAnswer: isAnswer)
        }
        // Results of questions from another network do not count.
        if let time, question.generation == health.generation { health.record(event, after: time, now: now) }
        let next = lookups.change(question.id.lookup) { lookup in
            lookup.questions.removeAll { $0 == question.id }
            return lookup.schedule.event(event, now: now).actions
        }
        if let next { perform(next, of: question.id.lookup, now: now) }
    }

    private mutating func timePassed(now: Moment) {
        wakesAt = .never
        for id in lookups.due(at: now) {
            let due = lookups.change(id) { lookup in
                let actions = lookup.schedule.event(.tick, now: now).actions
                return (actions: actions, isLate: lookup.staleAt <= now && !lookup.schedule.hasAnswer)
            }
            guard let due else { continue }
            if due.isLate { deliverStale(to: id, now: now) }
            perform(due.actions, of: id, now: now)
        }
        originTimePassed(now: now)
        wake(at: min(lookups.nextTick, services.nextTick, origins.nextTick))
    }

    /// Carries out the decisions of a lookup's schedule.
    private mutating func perform(_ decisions: [UpstreamSchedule.Action], of id: LookupID, now: Moment) {
        for decision in decisions {
            switch decision {
            case .ask(let upstream, let families): ask(upstream, for: families, of: id)
            case .cancel(let upstream, let silentSince):
                if let silentSince, lookups[id]?.context.generation == health.generation {
                    health.timedOut(upstream, askedAt: silentSince, now: now)
                }
                for question in lookups.takeQuestions(of: id, to: upstream) { actions.append(.stopAsking(question)) }
            case .deliver(let outcome): deliver(outcome, to: id, now: now)
            case .end(let outcome): end(id, with: outcome, now: now)
            }
        }
        wake(for: id)
    }

    private mutating func ask(_ upstream: Int, for families: Families, of id: LookupID) {
        let question = lookups.change(id) { lookup -> UpstreamQuestion? in
            // A later decision of the same step may have ended the lookup or stopped waiting for the upstream.
            guard lookup.schedule.awaits(upstream, for: families) else { return nil }
            let request = lookup.context.request
            let question = UpstreamQuestion(
                id: UpstreamQuestion.ID(lookup: id, upstream: upstream, families: families),
                question: Question(request.host, families: families, subnet: request.subnet),
                isTrusted: lookup.context.isTrusted,
                isFresh: lookup.context.isFresh,
                generation: lookup.context.generation
            )
            lookup.questions.append(question.id)
            return question
        }
        if let question = question.flatMap(\.self) { actions.append(.ask(question)) }
    }

    /// Ensures that the lookup is ticked in time.
    private mutating func wake(for id: LookupID) { wake(at: lookups[id]?.nextTick ?? .never) }

    mutating func wake(at moment: Moment) {
        guard moment < wakesAt else { return }
        wakesAt = moment
        actions.append(.wake(at: moment))
    }

    // MARK: A lookup ends

    /// Delivers the family that has arrived; the lookup continues for the cache.
    private mutating func deliver(_ outcome: UpstreamSchedule.Outcome, to id: LookupID, now: Moment) {
        guard let context = lookups[id]?.context, context.scope.isKept else { return }
        let result = answers.keep(outcome, of: context, now: now)
        lookups.change(id) { $0.isForCache = true }
        resume(lookups.takeCallers(of: id), with: result)
    }

    /// Delivers a stale answer to callers that have waited ``ResolverConfiguration/Cache/staleAnswerDelay`` for a new one
    /// (RFC 8767 §5).
    private mutating func deliverStale(to id: LookupID, now: Moment) {
        guard let context = lookups[id]?.context, context.scope.isKept,
            let stale = answers.staleResult(of: context, now: now)
        else { return lookups.keepLateCallers(of: id) }
        lookups.change(id) { $0.isForCache = true }
        resume(lookups.takeLateCallers(of: id, now: now), with: .success(stale))
    }

    private mutating func end(_ id: LookupID, with outcome: UpstreamSchedule.Outcome, now: Moment) {
        guard let lookup = remove(id), lookup.context.scope.isKept else { return }
        resume(lookup.callers.map(\.id), with: answers.keep(outcome, of: lookup.context, now: now))
    }

    /// Removes a cancelled caller. The lookup ends with its last caller, unless it also runs for the cache.
    mutating func cancelled(_ caller: CallerID) {
        if cancelledOrigin(caller) {
            return refuse(caller, with: .cancelled, message: "the resolution was cancelled")
        }
        guard let id = lookups.remove(caller: caller) else { return }
        if let lookup = lookups[id], lookup.callers.isEmpty, !lookup.isForCache { _ = remove(id) }
        refuse(caller, with: .cancelled, message: "the resolution was cancelled")
    }

    /// Ends all lookups, because the resolver is shut down.
    private mutating func close() {
        isClosed = true
        closeServices()
        for lookup in lookups.all.compactMap({ remove($0) }) {
            let error = ResolutionError(.shutDown, "\(lookup.context.request.host): the resolver was shut down")
            resume(lookup.callers.map(\.id), with: .failure(error))
        }
    }

    /// Removes a lookup and cancels its questions.
    private mutating func remove(_ id: LookupID) -> Lookup? {
        let lookup = lookups.remove(id)
        for question in lookup?.questions ?? [] { actions.append(.stopAsking(question)) }
        return lookup
    }

    private mutating func refuse(_ caller: CallerID?, with code: ResolutionError.Code, message: String) {
        if let caller { resume([caller], with: .failure(ResolutionError(code, message))) }
    }

    private mutating func resume(_ callers: [CallerID], with result: Result<LookupResult, ResolutionError>) {
        let callers = origins.take(callers, with: result)
        if !callers.isEmpty { actions.append(.resume(callers, result)) }
    }
}
