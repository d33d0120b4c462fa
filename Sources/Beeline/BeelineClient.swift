// SPDX-License-Identifier: Apache-2.0

public import CookieJar
public import DirectHTTP
public import HTTPDNS
public import HTTPTypes
public import Names

/// An HTTP client that resolves hosts by HTTPDNS and keeps the host name of every request for TLS, Host and cookies.
///
/// ```swift
/// let client = try BeelineClient()
/// let response = try await client.get("https://www.example.com/")
/// print(response.status, response.endpoint, response.resolution?.source ?? .literal)
/// print(String(buffer: try await response.collect(upTo: 1 << 20)))
/// await client.shutDown()
/// ```
///
/// One client can serve any number of tasks. It holds sockets and a resolver; ``shutDown(after:)`` closes both. A client that is
/// released without it closes its idle connections after `EngineConfiguration.keepIdle`.
public final class BeelineClient: Sendable {
    /// The version of this library, of the command and of its packages.
    public static let version = "0.2.0"

    /// The configuration that the client was created with.
    public let configuration: ClientConfiguration
    /// The resolver. Share it with other components that need the same answers.
    public let resolver: Resolver
    /// The cookies of the client's user. `nil`: the client neither sends nor keeps cookies.
    public let jar: CookieJar?
    /// The hosts that require TLS (HSTS, RFC 6797). The client changes `http` to `https` and `ws` to `wss` for them, in first
    /// requests and redirects, before it sends anything. It records hosts from responses whose certificate was verified. `nil`:
    /// the client changes no URL.
    public let hsts: HSTSStore?
    package let engine: Engine
    let auth = AuthMemory()
    let telemetry: Telemetry?
    let clock: CallClock

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - jar: The cookies of the client's user. All users of a jar see each other's changes. `nil`: the client
    ///     neither sends nor keeps cookies. Default: a new jar in memory.
    ///   - hsts: The hosts that require TLS, which clients can share like a jar. `nil` turns HSTS off. Default: a new store in
    ///     memory.
    /// - Throws: `UpstreamError` with code `misconfigured` if an upstream has invalid settings.
    public convenience init(
        _ configuration: ClientConfiguration = ClientConfiguration(),
        jar: CookieJar? = CookieJar(),
        hsts: HSTSStore? = HSTSStore()
    ) throws(UpstreamError) {
        try self.init(configuration, jar: jar, hsts: hsts, clock: ContinuousClock())
    }

    /// Creates a client that uses `clock` for its limits and the waits between tries, and compares the dates of servers
    /// with `date`.
    package init(
        _ configuration: ClientConfiguration,
        jar: CookieJar? = CookieJar(),
        hsts: HSTSStore? = HSTSStore(),
        clock: some Clock<Duration>,
        date: @escaping @Sendable () -> CookieTime = { .now }
    ) throws(UpstreamError) {
        self.configuration = configuration
        self.jar = jar
        self.hsts = hsts
        self.clock = CallClock(clock, date: date)
        telemetry = Telemetry(configuration.observability, clock: self.clock)
        engine = Engine(configuration: configuration.engine)
        let transportTLS = configuration.tls.forUpstreams
        let transport = EngineTransport(engine: engine, tls: transportTLS)
        var settings = configuration.resolver
        for spec in configuration.upstreams {
            let upstream =
                try spec == .system ? settings.system : spec.upstream(transport: transport, tls: transportTLS)
            if let upstream { settings.upstreams.append(upstream) }
        }
        let next = settings.network.onChange
        settings.network.onChange = { [engine] network in
            engine.retireConnections()
            transport.networkChanged(to: network)
            next?(network)
        }
        resolver = Resolver(settings)
        resolver.isEnabled = configuration.isHTTPDNSEnabled
    }

    /// Returns the event loop that carries the origin's connection, or will carry the next one. A task that prefers this
    /// executor needs the fewest thread switches.
    ///
    /// ```swift
    /// try await withTaskExecutorPreference(client.executor(for: url.origin)) {
    ///     let response = try await client.get(url.description)
    /// }
    /// ```
    ///
    /// Such a task must not block, because it would block every connection on that event loop.
    ///
    /// - Returns: The executor; `nil` (no preference) if ``ClientConfiguration/interceptors`` or
    ///   ``ClientConfiguration/credentials`` are not empty, because these may block.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    public func executor(for origin: Origin) -> (any TaskExecutor)? {
        guard configuration.interceptors.isEmpty, configuration.credentials.isEmpty else { return nil }
        return engine.executor(for: origin, tls: configuration.tls)
    }

    // MARK: Requests

    /// Sends a request for `url` and follows its redirects.
    ///
    /// Interceptors run once for the call. Below them the policies apply: retries, then hedged requests. Each of these performs
    /// the whole request, with its redirects.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - options: Settings of this request that override the configuration.
    ///   - request: Method and fields. If its `authority` differs from that of the URL, it is sent as the Host header and has
    ///     no other effect.
    ///   - url: The URL. Its host name determines SNI, certificate, cookies and connection.
    /// - Throws: ``BeelineError``.
    public func send(
        _ request: HTTPRequest,
        to url: HTTPURL,
        body: RequestBody = .none,
        options: RequestOptions = RequestOptions()
    ) async throws(BeelineError) -> Response {
        try await send(ClientRequest(request, to: url, body: body, options: options))
    }

    /// Sends a request and follows its redirects.
    ///
    /// - Throws: ``BeelineError``.
    public func send(_ request: ClientRequest) async throws(BeelineError) -> Response {
        try await Call(self).run(request)
    }

    /// Leases a connection and sends one request over it.
    func exchange(
        _ request: PreparedRequest,
        routing: OriginRouting,
        limits: TimeLimits,
        screen: EndpointScreen?,
        upgrade: Call.Upgrade?
    ) async throws(DirectHTTPError) -> ExchangeResponse {
        let source = OriginEndpoints(
            routing,
            resolver: resolver,
            screen: screen,
            upgrades: upgrade == nil,
            tls: configuration.tls
        )
        if let upgrade { return try await openWebSocket(with: request, upgrade: upgrade, from: source, limits: limits) }
        return try await engine.exchange(
            request,
            from: source,
            route: routing.route,
            tls: configuration.tls,
            limits: limits
        )
    }

    /// Opens a WebSocket. Separate from the common path so that its async frame stays small.
    @inline(never)
    private func openWebSocket(
        with request: PreparedRequest,
        upgrade: Call.Upgrade,
        from source: OriginEndpoints,
        limits: TimeLimits
    ) async throws(DirectHTTPError) -> ExchangeResponse {
        try await engine.upgrade(
            WebSocketRequest(request, subprotocols: upgrade.subprotocols),
            from: source,
            route: source.routing.route,
            tls: configuration.tls,
            settings: upgrade.settings,
            limits: limits
        )
    }

    // MARK: HTTPDNS switch and shutdown

    /// Runs the background work until its task is cancelled or ``shutDown(after:)`` is called. It watches the network
    /// and the remote switch, refreshes names, and writes the resolver's answers to its store (see `Resolver.run()`).
    /// Call it once, in your own task. The client works without it, but does none of this work.
    public func run() async { await resolver.run() }

    /// Whether HTTPDNS is on. If it is off, the system's resolver resolves every name. After a change, existing connections
    /// serve no further requests.
    public var isHTTPDNSEnabled: Bool {
        get { resolver.isEnabled }
        set {
            guard resolver.isEnabled != newValue else { return }
            resolver.isEnabled = newValue
            engine.retireConnections()
        }
    }

    /// Closes idle connections.
    public func closeIdle() { engine.closeIdle() }

    /// Retires all open connections after a change of network: none of them serves another request.
    public func retireConnections() { engine.retireConnections() }

    /// Shuts the client down: closes sockets, ends DNS queries and lets new requests fail with `shutDown`. Returns when all
    /// connections are closed.
    ///
    /// - Parameter grace: How long current responses may take to finish; the rest then fail. During this time the client sends
    ///   no new request, not even for a redirect or a retry; a call that waits before a retry fails after it. WebSockets close
    ///   at once.
    public func shutDown(after grace: Duration = .zero) async {
        if grace > .zero { await engine.shutDown(after: grace) }
        await resolver.shutDown()
        await engine.shutDown()
    }
}
