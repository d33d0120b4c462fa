// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOConcurrencyHelpers
public import NIOCore
public import NIOPosix
package import Names

/// Sends HTTP requests to given endpoints. It dials, races, secures and pools connections. It does not use DNS or cookies.
///
/// ```swift
/// let engine = Engine()
/// let request = try PreparedRequest(.get, HTTPURL("https://www.example.com/"))
/// let response = try await engine.exchange(request, from: EndpointList([Endpoint(address, port: 443)]))
/// let body = try await response.body.collect(upTo: 1 << 20)
/// await engine.shutDown()
/// ```
///
/// One engine serves any number of origins and tasks. ``shutDown(after:)`` ends it, and requests in progress then fail.
public final class Engine: Sendable {
    let configuration: EngineConfiguration
    let group: any EventLoopGroup
    /// An ``EventLoopTaskExecutor`` for each loop; empty on older systems, which do not support it.
    let executors: [ObjectIdentifier: any Executor]
    let wakes: [ObjectIdentifier: WakeQueue]
    let contexts: TLSContexts
    let proxies = AuthMemory()
    /// The origins that have turned ECH off.
    let ech = NIOLockedValueBox(ECHTable())
    let pool: ConnectionPool
    /// The channels of WebSockets. No pool holds them.
    let webSockets = ShutdownList<any Channel>()
    let pending = PendingDials()
    /// Guards the memory of recently failed endpoints.
    let memory: NIOLockedValueBox<EndpointMemory>

    /// Creates an engine on the process's shared event loops, or on your own.
    public init(
        configuration: EngineConfiguration = EngineConfiguration(),
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) {
        self.configuration = configuration
        self.group = group
        wakes = Dictionary(uniqueKeysWithValues: group.makeIterator().map { (ObjectIdentifier($0), WakeQueue($0)) })
        contexts = TLSContexts()
        if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) {
            executors = Dictionary(
                uniqueKeysWithValues: group.makeIterator().map {
                    (ObjectIdentifier($0), EventLoopTaskExecutor($0))
                }
            )
        } else {
            executors = [:]
        }
        pool = ConnectionPool(configuration: configuration, group: group)
        memory = NIOLockedValueBox(EndpointMemory(configuration.dial))
    }

    /// Creates an engine with its own connections that shares the event loops and the loaded certificates of `other`.
    package init(beside other: Engine) {
        configuration = other.configuration
        group = other.group
        executors = other.executors
        wakes = other.wakes
        contexts = other.contexts
        pool = ConnectionPool(configuration: configuration, group: group)
        memory = NIOLockedValueBox(EndpointMemory(configuration.dial))
    }

    /// Loads the certificates of these settings now, so that the first connection does not wait for them.
    package func prepare(_ tls: TLSSettings, for origin: Origin) throws(DirectHTTPError) {
        guard origin.scheme.isSecure else { return }
        _ = try contexts.context(for: tls, checksName: origin.host.dnsName != nil)
    }

    /// Sends a request and returns its response as soon as the head has arrived.
    ///
    /// - Parameters:
    ///   - request: the checked request.
    ///   - source: returns the endpoints; called only when a connection must be opened.
    ///   - route: the way to the origin. With a proxy, `source` is called for the proxy's endpoints.
    ///   - tls: the TLS settings. Connections with different settings are never shared.
    ///   - limits: the time limits.
    /// - Throws: ``DirectHTTPError``.
    public func exchange(
        _ request: PreparedRequest,
        from source: some EndpointSource,
        route: Route = .direct,
        tls: TLSSettings = TLSSettings(),
        limits: TimeLimits = TimeLimits()
    ) async throws(DirectHTTPError) -> ExchangeResponse {
        var clock = ExchangeClock(limits: limits)
        var course = Course(request, route: route, tls: tls)
        while true {
            // A kept connection would send the request at once, before its timer could end it.
            if let deadline = clock.deadline, deadline <= .now() { throw .late }
            let exchange = nextExchange(limits: limits, clock: clock, course: &course)
            let sent: SendResult
            do {
                sent = try await send(exchange, for: course.key, from: source, fresh: course.fresh, clock: &clock)
            } catch {
                throw clock.explaining(error)
            }
            if let response = try response(of: sent, to: exchange, clock: clock, course: &course) { return response }
            if case .success = sent.head { await ResponseBody(exchange: exchange, codings: []).discard() }
            clock.beginRound(connected: sent.time)
        }
    }

    private func nextExchange(limits: TimeLimits, clock: ExchangeClock, course: inout Course) -> Exchange {
        var request = course.request
        if let forwarder = course.key.forwarder {
            course.answer = forwarder.answer(
                from: proxies,
                method: request.method,
                target: request.absoluteTarget,
                body: request.body.bytesInMemory
            )
            if course.answer != nil || !forwarder.forwardedFields.isEmpty {
                request = request.with(proxyAuthorization: course.answer?.field, fields: forwarder.forwardedFields)
            }
        }
        return Exchange(
            request: request,
            limits: ExchangeLimits(
                bufferedBytes: configuration.bufferedBodyBytes,
                idle: limits.idle.map { TimeAmount(limit: $0) },
                deadline: clock.deadline
            )
        )
    }

    /// Closes every connection that carries no request.
    public func closeIdle() {
        pool.closeIdle()
    }

    /// Stops using all open connections for new requests. Call it after a change of network or of the resolver. Requests in
    /// progress continue to their end.
    public func retireConnections() {
        // An address that failed in the last network may work in this one.
        memory.withLockedValue { $0.forget() }
        ech.withLockedValue { $0 = ECHTable() }
        pool.retire()
    }

    /// A number that each call of ``retireConnections()`` changes, for callers that keep connections of their own.
    package var epoch: Int { pool.epoch }

    /// The number of open connections: lent, idle and WebSockets.
    package var openConnections: Int { pool.openCount + webSockets.count }

    /// The number of requests that wait for a connection because their origin has reached
    /// ``EngineConfiguration/connectionsPerOrigin``.
    package var waitingRequests: Int { pool.waitingCount }

    /// An executor on the loop of the connection that a request would use now; any loop of the group if there is none.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    package func executor(for origin: Origin, tls: TLSSettings) -> (any TaskExecutor)? {
        let loop = pool.nextLoop(PoolKey(origin: origin, tls: tls, route: .direct)) ?? group.next()
        return executors[ObjectIdentifier(loop)] as? any TaskExecutor
    }

    /// Closes every connection and returns when all are closed. Later requests fail with `shutDown`. Requests in
    /// progress may finish within `grace`; then they fail.
    ///
    /// - Parameter grace: The longest time for requests in progress. WebSockets are closed at once. Default zero.
    public func shutDown(after grace: Duration = .zero) async {
        pool.shutDown(isGraceful: grace > .zero)
        // The pool accepts no new connections now, so pending dials can only fail.
        for cancel in pending.shutDown() { cancel() }
        for channel in webSockets.shutDown() {
            channel.pipeline.fireUserInboundEventTriggered(ShutDownEvent())
            try? await channel.closeFuture.get()
        }
        let limit = group.next().scheduleTask(in: TimeAmount(limit: grace)) { [pool] in
            pool.shutDown(isGraceful: false)
        }
        await pool.allClosed()
        limit.cancel()
    }
}

extension DirectHTTPError {
    static var shutDown: DirectHTTPError {
        DirectHTTPError(.shutDown, "the engine was shut down: make a new one")
    }

    /// Whether a dial failed because all of its endpoints failed. Otherwise it ended early.
    package var isOfAllEndpoints: Bool {
        code != .cancelled && code != .shutDown && code != .connectTimeout && !attempts.isEmpty
    }

    func with(attempts: [Attempt]) -> DirectHTTPError {
        var error = self
        if error.attempts.isEmpty { error.attempts = attempts }
        return error
    }
}
