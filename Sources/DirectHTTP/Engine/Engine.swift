// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
public import NIOCore
public import NIOPosix
package import Names

/// HTTP to endpoints that it is told: it dials, races, secures, pools and exchanges, and knows no DNS and no cookies.
///
/// ```swift
/// let engine = Engine()
/// let request = try PreparedRequest(.get, HTTPURL("https://www.example.com/"))
/// let response = try await engine.exchange(request, from: EndpointList([Endpoint(address, port: 443)]))
/// let body = try await response.body.collect(upTo: 1 << 20)
/// await engine.shutDown()
/// ```
///
/// One engine serves any number of origins and tasks. ``shutDown(after:)`` ends it; what is under way then fails.
public final class Engine: Sendable {
    let configuration: EngineConfiguration
    let group: any EventLoopGroup
    /// One for each loop, as ``EventLoopTaskExecutor``, which older systems have not.
    let executors: [ObjectIdentifier: any Executor]
    /// One for each loop.
    let wakes: [ObjectIdentifier: WakeQueue]
    let contexts: TLSContexts
    /// What proxies asked for.
    let proxies = AuthMemory()
    let pool: ConnectionPool
    let webSockets = UpgradedChannels()
    let pending = PendingDials()
    /// Guards which endpoints failed lately.
    let memory: NIOLockedValueBox<EndpointMemory>

    /// An engine on event loops of the process, or on some of your own.
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

    /// An engine with connections of its own that reads no root certificate which `other` has read.
    package init(beside other: Engine) {
        configuration = other.configuration
        group = other.group
        executors = other.executors
        wakes = other.wakes
        contexts = other.contexts
        pool = ConnectionPool(configuration: configuration, group: group)
        memory = NIOLockedValueBox(EndpointMemory(configuration.dial))
    }

    /// Reads the certificates that these settings name, for which the first connection would wait otherwise.
    package func prepare(_ tls: TLSSettings, for origin: Origin) throws(DirectHTTPError) {
        guard origin.scheme.isSecure else { return }
        _ = try contexts.context(for: tls, checksName: origin.host.address == nil)
    }

    /// Sends a request and gives its response as soon as its head is there.
    ///
    /// - Parameters:
    ///   - request: what is asked, checked.
    ///   - source: asked for endpoints only when a connection must be opened.
    ///   - route: the way; `source` is asked for the proxy's endpoints where it leads through one.
    ///   - tls: how TLS is done; connections with other settings are never shared.
    ///   - limits: how long it may take.
    /// - Throws: ``DirectHTTPError``.
    public func exchange(
        _ request: PreparedRequest,
        from source: some EndpointSource,
        route: Route = .direct,
        tls: TLSSettings = TLSSettings(),
        limits: TimeLimits = TimeLimits()
    ) async throws(DirectHTTPError) -> ExchangeResponse {
        var clock = ExchangeClock(limits: limits)
        var course = Course(request, route, tls)
        while true {
            let exchange = nextExchange(request, limits, clock, &course)
            let sent: Sent
            do {
                sent = try await send(exchange, course.key, source, fresh: course.fresh, clock: clock)
            } catch {
                throw clock.explaining(error)
            }
            if let response = try response(sent, exchange, request, clock, &course) { return response }
            if case .success = sent.head { await ResponseBody(exchange: exchange, codings: []).discard() }
            clock.beginRound()
        }
    }

    /// How a request has fared.
    private struct Course {
        /// Where its connection is looked for.
        var key: PoolKey
        /// Whether a new connection is wanted.
        var fresh = false
        var refusals = 0
        /// What the proxy was told of who we are.
        var answer: AuthMemory.Answer?
        /// How many challenges of the proxy were answered.
        var challenges = 0

        @inline(never)
        init(_ request: PreparedRequest, _ route: Route, _ tls: TLSSettings) {
            key = PoolKey(origin: request.origin, tls: tls, route: route)
        }
    }

    @inline(never)
    private func nextExchange(
        _ request: PreparedRequest,
        _ limits: TimeLimits,
        _ clock: ExchangeClock,
        _ course: inout Course
    ) -> Exchange {
        course.answer = proxyAnswer(request, course.key)
        return Exchange(
            request: course.answer.map { request.with(proxyAuthorization: $0.field) } ?? request,
            limits: ExchangeLimits(
                bufferedBytes: configuration.bufferedBodyBytes,
                idle: limits.idle.map { TimeAmount($0) },
                deadline: clock.deadline
            )
        )
    }

    /// The response that was wanted; nil where the request is to be sent again.
    ///
    /// It is no part of ``exchange(_:from:route:tls:limits:)``, for what an asynchronous function needs at any time takes memory
    /// all the time.
    @inline(never)
    private func response(
        _ sent: Sent,
        _ exchange: Exchange,
        _ request: PreparedRequest,
        _ clock: ExchangeClock,
        _ course: inout Course
    ) throws(DirectHTTPError) -> ExchangeResponse? {
        switch sent.head {
        case .success(let shared):
            let head = shared.value
            if request.body.isReplayable, course.challenges < AuthMemory.maximumChallenges,
                isChallenge(head.response, course.key, used: course.answer, isRemembered: course.challenges == 0)
            {
                course.challenges += 1
                return nil
            }
            return ExchangeResponse(
                head: head.response,
                isOld: head.isOld,
                exchange: exchange,
                decodes: request.decodesContent,
                connection: sent.connection.info,
                isReused: sent.isReused,
                timings: ExchangeTimings(
                    info: sent.connection.info,
                    isReused: sent.isReused,
                    firstByte: Duration(head.firstByte - sent.time),
                    begin: clock.begin
                )
            )
        case .failure(let error):
            var error = error.with(attempts: sent.connection.info.attempts)
            if error.wantsHTTP1, course.key.tls.offersHTTP2, request.body.isReplayable {
                course.key = course.key.withoutHTTP2
                return nil
            }
            guard course.refusals < Self.maximumRefusals,
                error.isUnprocessed || mayRepeat(request, after: error, isReused: sent.isReused)
            else { throw error }
            guard request.body.isReplayable else {
                error.message = DirectHTTPError.withBodyGone(error.message)
                throw error
            }
            course.refusals += 1
            course.fresh = true
            return nil
        }
    }

    /// How often a request is sent again because its connection was gone or its server refused to look at it.
    private static let maximumRefusals = 8

    /// RFC 9110 §9.2.2: a kept connection may have died of age under an innocent request.
    private func mayRepeat(_ request: PreparedRequest, after error: DirectHTTPError, isReused: Bool) -> Bool {
        isReused && error.isBeforeResponse && request.isIdempotent
    }

    /// Closes every connection that serves nobody.
    public func closeIdle() {
        pool.closeIdle()
    }

    /// Lets no connection that is open now serve another exchange: after a change of network, or when the way to name
    /// endpoints was switched. What is under way goes on to its end.
    public func retireConnections() {
        // An address that did not answer in the last network may be the best one in this.
        memory.withLockedValue { $0.forget() }
        pool.retire()
    }

    /// Open connections: lent, idle and WebSockets.
    public var openConnections: Int { pool.openCount + webSockets.count }

    /// Requests that wait for a connection of a full origin (``EngineConfiguration/connectionsPerOrigin``).
    public var waitingRequests: Int { pool.waitingCount }

    /// What runs tasks on the loop of the connection that a request to an origin would be given now, or of one that it would
    /// open.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    package func executor(for origin: Origin, tls: TLSSettings) -> (any TaskExecutor)? {
        let loop = pool.nextLoop(PoolKey(origin: origin, tls: tls, route: .direct)) ?? group.next()
        return executors[ObjectIdentifier(loop)] as? any TaskExecutor
    }

    /// Closes every connection. What is under way fails; what comes after fails with `shutDown`. Returns when no connection
    /// is left.
    ///
    /// - Parameter grace: how long what is under way may still go on. WebSockets are closed at once. Default: not at all.
    public func shutDown(after grace: Duration = .zero) async {
        pool.shutDown(isGraceful: grace > .zero)
        // The pool takes no new connection any more, so that they can end in one way only.
        pending.shutDown()
        await webSockets.shutDown()
        let limit = group.next().scheduleTask(in: TimeAmount(grace)) { [pool] in pool.shutDown(isGraceful: false) }
        await pool.allClosed()
        limit.cancel()
    }
}

extension DirectHTTPError {
    static var shutDown: DirectHTTPError {
        DirectHTTPError(.shutDown, "the engine was shut down: make a new one")
    }

    func with(attempts: [Attempt]) -> DirectHTTPError {
        var error = self
        if error.attempts.isEmpty { error.attempts = attempts }
        return error
    }
}
