// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import NIOConcurrencyHelpers
import NIOCore
import Names

/// The state that all connections of a server share: forms, limits and counters.
final class ServerService: Sendable {
    /// The names behind a server: what it reports about them.
    struct Source: Sendable {
        /// Whether questions can be answered. If not, `/ready` answers 503.
        var canAnswer: @Sendable () -> Bool
        /// Looks for an upstream that works again, without waiting.
        var probe: @Sendable () -> Void
        /// Whether the server behind these reports stops. `/health` then answers 503, but connections are accepted.
        var isStopping: @Sendable () -> Bool = { false }
        /// Returns the text of `/metrics`. Called on event loops.
        var report: @Sendable (_ counters: ServerCounters, _ isReady: Bool) -> String
    }

    let connections: ConnectionTable
    private let source: Source
    /// The maximum number of pending lookups of one client.
    private let waitingPerClient: Int
    /// Nil without a tracer.
    let tracing: ServerTracing?
    private let log: (@Sendable (AccessRecord) -> Void)?
    private let wall: @Sendable () -> Int64

    private struct State {
        /// Nil if the server has `/metrics`, `/health` and `/ready` only.
        var router: Router?
        var limiter: RateLimiter?
        /// The requests for `/metrics`.
        var reports = RateLimiter(perSecond: 10, burst: 50, maxClients: 4_096)
        var counters = ServerCounters()
        /// Whether the server listens.
        var hasStarted = false
        /// Whether the server will stop, so that clients should go elsewhere.
        var isRetiring = false
        /// The number of answers that wait for upstreams.
        var underWay = 0
        /// The number of pending lookups of each client.
        var waiting = Tally<IPAddress>()
        var date = ""
        var dateSecond: Int64 = -1
    }

    /// Guards all mutable state. Nothing slow runs under the lock.
    private let state: NIOLockedValueBox<State>

    convenience init(
        _ configuration: ServerConfiguration,
        resolver: Resolver,
        zones: ZoneFiles,
        wall: @escaping @Sendable () -> Int64 = SigningClock.deviceTime
    ) {
        let backend = NameBackend(resolver)
        let answerer = Answerer(
            backend: backend,
            zones: zones,
            privateNames: configuration.privateNames,
            marksPrivate: configuration.privateNames != .forAll
        )
        let source = Source(
            canAnswer: { zones.set.count > 0 || resolver.canAsk },
            probe: { resolver.probe() },
            report: { counters, isReady in counters.text(LookupReport([backend], zones: zones), isReady: isReady) }
        )
        self.init(
            configuration,
            router: Router(configuration, answerer: answerer, clock: wall),
            source: source,
            waitingPerClient: max(64, resolver.configuration.limits.maxLookups / 4),
            wall: wall
        )
    }

    /// - Parameter router: Answers questions. Nil for a server that has `/metrics`, `/health` and `/ready` only.
    init(
        _ configuration: ServerConfiguration,
        router: Router? = nil,
        source: Source,
        waitingPerClient: Int = 0,
        wall: @escaping @Sendable () -> Int64 = SigningClock.deviceTime
    ) {
        connections = ConnectionTable(
            allowed: configuration.maxConnections,
            clientLimit: configuration.connectionsPerClient,
            announcing: configuration.proxyProtocol,
            trusted: configuration.trustedProxies,
            headerLimit: configuration.handshakeTimeout
        )
        self.source = source
        self.waitingPerClient = waitingPerClient
        self.wall = wall
        log = configuration.accessLog
        tracing = configuration.tracer.map { ServerTracing(tracer: $0) }
        let limiter = configuration.questionsPerSecond.map {
            RateLimiter(perSecond: $0, burst: configuration.burst, maxClients: configuration.maxClients)
        }
        state = NIOLockedValueBox(State(router: router, limiter: limiter))
    }

    /// Handles a request, or refuses it if its client exceeds the rate limit.
    func handle(_ request: ServerRequest, now: NIODeadline) -> RequestHandling {
        // Monitoring is exempt from the rate limit: the metrics are needed most when a client behind the same address exceeds it.
        // They have a limit of their own, because their text costs as much as many answers.
        if let reply = monitoring(request, now: now) { return .reply(reply) }
        let (isAllowed, router) = state.withLockedValue { state in
            let nanoseconds = Int64(clamping: now.uptimeNanoseconds)
            let isAllowed = state.limiter?.allows(request.client, now: nanoseconds) ?? true
            if !isAllowed { state.counters.limited += 1 }
            return (isAllowed, state.router)
        }
        guard isAllowed else { return .reply(.limited) }
        return router?.handle(request) ?? .reply(.notFound)
    }

    /// The reply to a request of monitoring. Nil for other requests.
    private func monitoring(_ request: ServerRequest, now: NIODeadline) -> ServerReply? {
        guard Self.isMonitoring(request) else { return nil }
        switch request.path {
        case "/health": return isDraining || source.isStopping() ? .text("draining", status: 503) : .text("ok")
        case "/ready": return readyReply()
        default:
            let time = Int64(clamping: now.uptimeNanoseconds)
            return state.withLockedValue { $0.reports.allows(request.client, now: time) } ? metrics() : .limited
        }
    }

    static func isMonitoring(_ request: ServerRequest) -> Bool {
        guard request.method == .get else { return false }
        return switch request.path {
        case "/health", "/ready", "/metrics": true
        default: false
        }
    }

    /// Whether to send clients here.
    var readiness: Readiness {
        let (hasStarted, isRetiring) = state.withLockedValue { ($0.hasStarted, $0.isRetiring) }
        if isRetiring || isDraining { return .draining }
        guard hasStarted else { return .starting }
        return source.canAnswer() ? .ready : .noUpstream
    }

    private func readyReply() -> ServerReply {
        let readiness = readiness
        // A load balancer sends no questions to a server that is not ready, so that nothing else would find the upstream again.
        if readiness == .noUpstream { source.probe() }
        return .text(readiness.description, status: readiness == .ready ? 200 : 503)
    }

    private func metrics() -> ServerReply {
        var counters = state.withLockedValue { $0.counters }
        counters.connections = connections.counts
        let text = source.report(counters, readiness == .ready)
        return ServerReply(200, contentType: "text/plain; version=0.0.4; charset=utf-8", body: Array(text.utf8))
    }

    // MARK: Counters and limits

    /// Counts an answer that waits for upstreams. Returns false if its client has too many pending lookups. The limit keeps one
    /// client from taking all the concurrent lookups of the resolver.
    func admitLookups(of client: IPAddress, count lookups: Int = 1, now: NIODeadline = .now()) -> Bool {
        let key = client.ofSubscriber
        return state.withLockedValue { state in
            // Without a rate limiter, all clients may share one address, for example behind a load balancer.
            let limit = state.limiter == nil ? .max : waitingPerClient
            guard state.waiting.add(key, lookups, limit: limit) else {
                state.counters.limited += 1
                return false
            }
            // `handle` already took the first question.
            state.limiter?.take(lookups - 1, of: client, now: Int64(clamping: now.uptimeNanoseconds))
            state.underWay += 1
            return true
        }
    }

    /// Ends the count of an answer that ``admitLookups(of:count:now:)`` admitted.
    func finishLookups(of client: IPAddress, count lookups: Int = 1) {
        let key = client.ofSubscriber
        state.withLockedValue { state in
            state.underWay -= 1
            state.waiting.remove(key, lookups)
        }
    }

    /// The number of answers that wait for upstreams.
    var underWay: Int { state.withLockedValue { $0.underWay } }

    /// Whether new connections are refused.
    var isDraining: Bool { connections.isClosed }
    func started() { state.withLockedValue { $0.hasStarted = true } }

    /// Announces the stop to load balancers. Returns whether the server listens and was not stopped before.
    func retire() -> Bool {
        state.withLockedValue { state in
            defer { state.isRetiring = true }
            return state.hasStarted && !state.isRetiring && !isDraining
        }
    }

    func drain() { connections.close() }

    /// Cancels the questions to upstreams that messages wait for. Further ones fail.
    func endQuestions() { state.withLockedValue { $0.router }?.answerer.backend.forwarder.close() }

    func use(_ accounts: [ServerAccount]) { state.withLockedValue { $0.router = $0.router?.with(accounts) } }

    func noteReloadFailure() { state.withLockedValue { $0.counters.reloadFailures += 1 } }

    func note(_ reply: ServerReply, client: IPAddress, time: Duration) {
        state.withLockedValue { state in
            state.counters.add(reply.form, status: reply.status, code: reply.outcome, duration: time)
        }
        guard let log else { return }
        let record = AccessRecord(
            client: client,
            form: reply.form,
            account: reply.account.map(AccessRecord.bounded),
            names: AccessRecord.text(of: reply.names),
            types: reply.types,
            status: reply.status,
            outcome: reply.outcome,
            source: reply.source,
            octets: reply.body.count,
            time: time
        )
        log(record)
    }

    // MARK: Time

    /// The current date in HTTP format (RFC 9110 §5.6.7). Clients with wrong clocks use it to time their signatures.
    var date: String {
        let now = wall()
        return state.withLockedValue { state in
            if state.dateSecond != now {
                state.dateSecond = now
                state.date = HTTPDate.text(now)
            }
            return state.date
        }
    }
}
