// SPDX-License-Identifier: Apache-2.0

import Names

/// Decides everything that concerns more than one lookup: who shares a lookup, which upstreams are asked, what is
/// cached, and when a caller gets which result. A value without locks, clocks or I/O; ``Resolver`` drives it.
///
/// The life of a lookup:
/// 1. ``CachedAnswers/find(_:port:now:ranking:countsMisses:)`` finds no answer, and the caller waits:
///    ``Event/asked(_:by:isFresh:)``.
/// 2. The caller joins the lookup of the name, or the machine plans one and asks the first upstreams
///    (``Action/ask(_:)``).
/// 3. Each answer (``Event/answered(_:_:after:)``) and each planned time (``Event/timePassed``) is passed to
///    the ``UpstreamSchedule`` of the lookup. It asks and cancels further upstreams, until it has an outcome.
/// 4. The outcome is stored in ``answers``, and the callers get it (``Action/resume(_:_:)``).
///
/// Each extension has one subject: the events and actions, lookups of addresses, lookups of HTTPS records, callers of
/// origins, their results, the choice of upstreams, and the network with the switches.
struct LookupMachine {
    let configuration: ResolverConfiguration
    /// The upstreams, and the system last.
    let upstreams: [UpstreamProfile]
    /// A random number in 0..<1.
    let random: @Sendable () -> Double

    /// The cache.
    var answers: CachedAnswers
    var lookups = OngoingLookups()
    /// The lookups of HTTPS records.
    var services = LookupTable<ServiceLookup>()
    /// The upstreams that drop questions for HTTPS records.
    var silence = ServiceSilence()
    /// The callers that wait for origins.
    var origins = OriginLookups()
    var health: UpstreamHealth
    /// The response times of ``upstreams``.
    var times: [UpstreamTimes]
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
    /// When ``checkOutage(of:in:now:)`` asked last.
    var outageCheckedAt = Moment.past
    /// The moment of the last ``Action/wake(at:)``.
    private var wakesAt = Moment.never
    /// The actions of the present event.
    var actions: [Action] = []

    init(_ configuration: ResolverConfiguration, random: @escaping @Sendable () -> Double) {
        self.configuration = configuration
        self.random = random
        upstreams = configuration.allUpstreams.map { UpstreamProfile($0) }
        answers = CachedAnswers(configuration, upstreams: upstreams, scope: scopes.current)
        health = UpstreamHealth(
            count: upstreams.count,
            failuresUntilDown: configuration.limits.failuresUntilDown,
            limits: configuration.ranking
        )
        times = Array(repeating: UpstreamTimes(), count: upstreams.count)
        ranking = EndpointRanking(limits: configuration.ranking)
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
        case .probeDue: probe(now: now)
        case .answered(let question, let result, let time): answered(question, with: result, after: time, now: now)
        case .batchAnswered(let batch, let result): batchAnswered(batch, with: result, now: now)
        case .timePassed: timePassed(now: now)
        case .attemptEnded(let outcome, let endpoint, let host): attemptEnded(outcome, at: endpoint, of: host, now: now)
        case .networkFound(let network): networkFound(network)
        case .networkChanged(let network): networkChanged(to: network)
        case .nat64Found(let prefixes, let network): nat64Found(prefixes, in: network)
        case .answeredAgain(let host): unanswered.removeAll { $0 == host }
        case .switched(let isOn): switched(on: isOn, now: now)
        case .documentReceived(let document, let wall): documentReceived(document, wall: wall, now: now)
        case .documentMissed: remote.failed()
        case .documentChecked(let wall): documentChecked(wall: wall, now: now)
        case .restored(let stored, let wall):
            for answer in stored { answers.restore(answer, policy: policy, scopes: &scopes, wall: wall, now: now) }
        case .forgotten(let host?): answers.forget(host)
        case .forgotten(nil): answers.cache.removeAll()
        case .closed: close()
        }
        settleOrigins(now: now)
        defer { actions = [] }
        return actions
    }

    // MARK: Results

    /// The resolution of a lookup's result, for one caller.
    func resolution(
        of result: LookupResult,
        for request: LookupRequest,
        port: UInt16
    ) throws(ResolutionError) -> Resolution {
        let addresses = result.entry.addresses(of: request.families)
        let ordered = ranking.order(addresses, port: port, now: result.time).addresses
        guard !ordered.isEmpty else { throw .absent(request, entry: result.entry, now: result.time) }
        var resolution = Resolution(
            of: result.entry,
            addresses: ordered,
            source: result.source,
            request: request,
            port: port,
            answer: result.answer,
            plan: result.plan,
            now: result.time
        )
        resolution.isPartial = result.isPartial
        return resolution
    }

    // MARK: Time and the end

    private mutating func timePassed(now: Moment) {
        wakesAt = .never
        lookupTimePassed(now: now)
        serviceTimePassed(now: now)
        // A result that arrives at this moment counts.
        settleOrigins(now: now)
        originTimePassed(now: now)
        wake(at: min(lookups.nextTick, services.nextTick, origins.nextTick))
    }

    /// Ensures that time passes for the machine at this moment, or earlier.
    mutating func wake(at moment: Moment) {
        guard moment < wakesAt else { return }
        wakesAt = moment
        actions.append(.wake(at: moment))
    }

    /// Ends all lookups, because the resolver is shut down.
    private mutating func close() {
        isClosed = true
        closeServices()
        closeLookups()
    }
}
