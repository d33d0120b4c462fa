// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import NIOConcurrencyHelpers
import NIOCore
import Names

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The state that all connections of a server share: forms, limits and counters.
final class ServerService: Sendable {
    /// Returns the text of `/metrics`.
    private let report: @Sendable (ServerCounters) -> String
    /// The maximum number of pending lookups of one client.
    private let waitingPerClient: Int
    private let log: (@Sendable (AccessRecord) -> Void)?
    private let wall: @Sendable () -> Int64

    private struct State {
        /// Nil if the server has `/metrics` and `/health` only.
        var router: Router?
        var limiter: RateLimiter?
        var counters = ServerCounters()
        var isDraining = false
        /// The number of open connections of each client.
        var connections: [IPAddress: Int] = [:]
        /// The number of answers that wait for upstreams.
        var underWay = 0
        /// The number of pending lookups of each client.
        var waiting: [IPAddress: Int] = [:]
        var date = ""
        var dateSecond: Int64 = -1
    }

    /// Guards all mutable state. Nothing slow runs under the lock.
    private let state: NIOLockedValueBox<State>

    convenience init(
        _ configuration: ServerConfiguration,
        resolver: Resolver,
        zones: ZoneFiles,
        wall: @escaping @Sendable () -> Int64 = ServerService.seconds
    ) {
        let answerer = Answerer(resolver: resolver, zones: zones, privateNames: configuration.privateNames)
        self.init(
            configuration,
            router: Router(configuration, answerer: answerer, clock: wall),
            waitingPerClient: max(64, resolver.configuration.limits.maxLookups / 4),
            wall: wall
        ) { counters in
            counters.text(cache: resolver.counts, cachedNames: resolver.cachedNames, zoneNames: zones.set.count)
        }
    }

    /// - Parameters:
    ///   - router: Answers questions. Nil for a server that has `/metrics` and `/health` only.
    ///   - report: Returns the text of `/metrics`.
    init(
        _ configuration: ServerConfiguration,
        router: Router? = nil,
        waitingPerClient: Int = 0,
        wall: @escaping @Sendable () -> Int64 = ServerService.seconds,
        report: @escaping @Sendable (ServerCounters) -> String
    ) {
        self.report = report
        self.waitingPerClient = waitingPerClient
        self.wall = wall
        log = configuration.accessLog
        let limiter = configuration.questionsPerSecond.map {
            RateLimiter(perSecond: $0, burst: configuration.burst, maxClients: configuration.maxClients)
        }
        state = NIOLockedValueBox(State(router: router, limiter: limiter))
    }

    /// Handles a request, or refuses it if its client exceeds the rate limit.
    func handle(_ request: ServerRequest, now: NIODeadline) -> Handling {
        // Monitoring is exempt from the rate limit.
        if request.method == .get {
            if request.path == "/health" {
                return .reply(isDraining ? .text("draining", status: 503) : .text("ok"))
            }
            if request.path == "/metrics" { return .reply(metrics()) }
        }
        let (isAllowed, router) = state.withLockedValue { state in
            let nanoseconds = Int64(clamping: now.uptimeNanoseconds)
            let isAllowed = state.limiter?.allows(request.client, now: nanoseconds) ?? true
            if !isAllowed { state.counters.limited += 1 }
            return (isAllowed, state.router)
        }
        guard isAllowed else { return .reply(.limited) }
        return router?.handle(request) ?? .reply(.notFound)
    }

    private func metrics() -> ServerReply {
        let counters = state.withLockedValue { $0.counters }
        return ServerReply(
            200,
            contentType: "text/plain; version=0.0.4; charset=utf-8",
            body: Array(report(counters).utf8)
        )
    }

    // MARK: Counters and limits

    /// Counts an answer that waits for upstreams. Returns false if its client has too many pending lookups. The limit keeps one
    /// client from taking all the concurrent lookups of the resolver.
    func began(_ client: IPAddress, lookups: Int = 1, now: NIODeadline = .now()) -> Bool {
        let key = client.ofSubscriber
        return state.withLockedValue { state in
            let own = state.waiting[key] ?? 0
            // Without a rate limiter, all clients may share one address, for example behind a load balancer.
            guard own + lookups <= waitingPerClient || state.limiter == nil else {
                state.counters.limited += 1
                return false
            }
            // `handle` already took the first question.
            state.limiter?.take(lookups - 1, of: client, now: Int64(clamping: now.uptimeNanoseconds))
            state.waiting[key] = own + lookups
            state.underWay += 1
            return true
        }
    }

    func ended(_ client: IPAddress, lookups: Int = 1) {
        let key = client.ofSubscriber
        state.withLockedValue { state in
            state.underWay -= 1
            guard let own = state.waiting[key] else { return }
            state.waiting[key] = own > lookups ? own - lookups : nil
        }
    }

    /// The number of answers that wait for upstreams.
    var underWay: Int { state.withLockedValue { $0.underWay } }

    var isDraining: Bool { state.withLockedValue { $0.isDraining } }
    func drain() { state.withLockedValue { $0.isDraining = true } }

    func use(_ accounts: [ServerAccount]) { state.withLockedValue { $0.router = $0.router?.with(accounts) } }

    func noteReloadFailure() { state.withLockedValue { $0.counters.reloadFailures += 1 } }

    /// Counts a connection. Returns false if the server or this client has too many connections.
    func opened(_ client: IPAddress?, limit: Int, clientLimit: Int) -> Bool {
        state.withLockedValue { state in
            let own = client.map { state.connections[$0] ?? 0 } ?? 0
            guard state.counters.connectionsOpen < limit, own < clientLimit || client == nil, !state.isDraining else {
                state.counters.connectionsRefused += 1
                return false
            }
            if let client { state.connections[client] = own + 1 }
            state.counters.connections += 1
            state.counters.connectionsOpen += 1
            return true
        }
    }

    func closed(_ client: IPAddress?) {
        state.withLockedValue { state in
            state.counters.connectionsOpen -= 1
            guard let client, let own = state.connections[client] else { return }
            state.connections[client] = own > 1 ? own - 1 : nil
        }
    }

    func note(_ reply: ServerReply, client: IPAddress, time: Duration) {
        state.withLockedValue { $0.counters.add(reply.form, status: reply.status, duration: time) }
        guard let log else { return }
        let record = AccessRecord(
            client: client,
            form: reply.form,
            account: reply.account.map(AccessRecord.bounded),
            names: AccessRecord.bounded(reply.names.map(\.description).joined(separator: ",")),
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

    @Sendable static func seconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec)
    }
}
