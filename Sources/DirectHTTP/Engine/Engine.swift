// SPDX-License-Identifier: Apache-2.0

public import NIOCore
public import NIOPosix
import Names

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
/// One engine serves any number of origins and tasks. ``shutDown()`` ends it; what is under way then fails.
public final class Engine: Sendable {
    private let configuration: EngineConfiguration
    private let group: any EventLoopGroup
    private let contexts = TLSContexts()
    private let pool: ConnectionPool

    /// An engine on event loops of the process, or on some of your own.
    public init(
        configuration: EngineConfiguration = EngineConfiguration(),
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) {
        self.configuration = configuration
        self.group = group
        pool = ConnectionPool(configuration: configuration, group: group)
    }

    /// Sends a request and gives its response as soon as its head is there.
    ///
    /// - Parameters:
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
        let clock = ExchangeClock(limits: limits)
        let key = PoolKey(origin: request.origin, tls: tls, route: route)
        var fresh = false
        while true {
            let lease = try await lease(key, source, fresh: fresh, clock: clock)
            let exchange = Exchange(
                request: request,
                limits: ExchangeLimits(
                    bufferedBytes: configuration.bufferedBodyBytes,
                    idle: limits.idle.map { TimeAmount($0) },
                    deadline: clock.deadline
                )
            )
            let sent = NIODeadline.now()
            do {
                let head = try await exchange.head(on: lease.connection)
                return ExchangeResponse(
                    head: head.response,
                    exchange: exchange,
                    connection: lease.connection.info,
                    isReused: lease.isReused,
                    timings: ExchangeTimings(
                        info: lease.connection.info,
                        isReused: lease.isReused,
                        firstByte: Duration(head.firstByte - sent),
                        begin: clock.begin
                    )
                )
            } catch {
                // RFC 9110 §9.2.2: a kept connection may have died of age under an innocent request.
                guard lease.isReused, error.isBeforeResponse, request.isIdempotent, request.body.isReplayable else {
                    throw error.with(attempts: lease.connection.info.attempts)
                }
                fresh = true
            }
        }
    }

    /// Closes every connection that serves nobody; new requests dial anew.
    public func closeIdle() {
        pool.closeIdle()
    }

    /// Open connections, lent and idle.
    public var openConnections: Int { pool.openCount }

    /// Closes every connection. What is under way fails; what comes after fails with `shutDown`. Returns when no connection
    /// is left.
    public func shutDown() async {
        pool.shutDown()
        await pool.allClosed()
    }

    // MARK: Leasing

    private func lease(
        _ key: PoolKey,
        _ source: some EndpointSource,
        fresh: Bool,
        clock: ExchangeClock
    ) async throws(DirectHTTPError) -> (connection: Connection, isReused: Bool) {
        switch try await pool.lease(key, fresh: fresh, deadline: clock.connectDeadline) {
        case .reuse(let connection):
            return (connection, true)
        case .open:
            do {
                return (try await open(key, source, clock: clock), false)
            } catch {
                pool.openingFailed(key)
                throw error
            }
        }
    }

    private func open(
        _ key: PoolKey,
        _ source: some EndpointSource,
        clock: ExchangeClock
    ) async throws(DirectHTTPError) -> Connection {
        let start = NIODeadline.now()
        let list = try await resolve(key, source)
        let resolveTime = Duration(NIODeadline.now() - start)
        let target = DialTarget(
            key: key,
            tls: key.origin.scheme.isSecure ? try contexts.context(for: key.tls) : nil
        )
        let dialer = Dialer(
            target: target,
            list: list,
            resolveTime: resolveTime,
            configuration: configuration,
            pool: pool
        )
        let loop = MultiThreadedEventLoopGroup.currentEventLoop ?? group.next()
        return try await dialer.dial(on: loop, deadline: clock.connectDeadline)
    }

    private func resolve(
        _ key: PoolKey,
        _ source: some EndpointSource
    ) async throws(DirectHTTPError) -> EndpointList {
        let dialled: Origin
        switch key.route {
        case .direct: dialled = key.origin
        case .proxy(let proxy): dialled = proxy.origin
        }
        do {
            let list = try await source.endpoints(for: dialled)
            guard !list.endpoints.isEmpty else {
                throw DirectHTTPError(.unresolved, "nobody knows an address of \(dialled.host)")
            }
            return list
        } catch let error as DirectHTTPError {
            throw error
        } catch is CancellationError {
            throw DirectHTTPError(.cancelled, "the request to \(key.origin) was cancelled")
        } catch {
            throw DirectHTTPError(.unresolved, "\(dialled.host) was not resolved: \(error)", underlyingError: error)
        }
    }
}

/// When an exchange began, and when it must be over.
struct ExchangeClock {
    let begin = NIODeadline.now()
    let deadline: NIODeadline?
    let connectDeadline: NIODeadline?

    init(limits: TimeLimits) {
        let begin = begin
        let whole = limits.whole.map { begin + TimeAmount($0) }
        let connect = limits.connect.map { begin + TimeAmount($0) }
        deadline = whole
        connectDeadline = [whole, connect].compactMap(\.self).min()
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
