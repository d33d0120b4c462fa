// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
public import HTTPDNS
public import HTTPTypes
public import Names

/// An HTTP client that finds its origins by HTTPDNS and lets every request stay who it is.
///
/// ```swift
/// let client = try BeelineClient()
/// let response = try await client.get("https://www.example.com/")
/// print(response.status, response.endpoint, response.resolution?.source ?? .literal)
/// print(String(buffer: try await response.collect(upTo: 1 << 20)))
/// await client.shutDown()
/// ```
///
/// One client serves any number of tasks. It holds sockets and a resolver: ``shutDown(after:)`` ends both.
public final class BeelineClient: Sendable {
    /// The version of this library.
    public static let version = "0.1.0"

    /// What the client was made with.
    public let configuration: ClientConfiguration
    /// The resolver; shared with everybody who should know what this client knows.
    public let resolver: Resolver
    let engine: Engine
    let auth = AuthMemory()
    let telemetry: Telemetry?
    let clock: CallClock

    /// A client.
    ///
    /// - Throws: `UpstreamError` with code `misconfigured` for an upstream that cannot be asked.
    public convenience init(_ configuration: ClientConfiguration = ClientConfiguration()) throws(UpstreamError) {
        try self.init(configuration, clock: ContinuousClock())
    }

    /// A client whose waits between tries go by `clock`.
    package init(_ configuration: ClientConfiguration, clock: some Clock<Duration>) throws(UpstreamError) {
        self.configuration = configuration
        self.clock = CallClock(clock)
        telemetry = Telemetry(configuration.observability)
        engine = Engine(configuration: configuration.engine)
        let transportTLS = configuration.tls.forUpstreams
        let transport = EngineTransport(engine: engine, tls: transportTLS)
        var settings = configuration.resolver
        for spec in configuration.upstreams {
            let upstream = try spec.upstream(transport: transport, tls: transportTLS, system: settings.system)
            if let upstream { settings.upstreams.append(upstream) }
        }
        let told = settings.networkDidChange
        settings.networkDidChange = { [engine] network in
            engine.retireConnections()
            transport.networkChanged(to: network)
            told?(network)
        }
        resolver = Resolver(settings)
        resolver.isEnabled = configuration.isHTTPDNSEnabled
    }

    /// What runs a task that sends requests to an origin with the fewest changes of threads: the event loop that carries its
    /// connection, or would carry the next one.
    ///
    /// ```swift
    /// try await withTaskExecutorPreference(client.executor(for: url.origin)) {
    ///     let response = try await client.get(url.description)
    /// }
    /// ```
    ///
    /// Such a task must not block: whatever else the loop carries waits for it.
    ///
    /// - Returns: nil, which is no preference, where interceptors or credentials are called on the way: they may block.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    public func executor(for origin: Origin) -> (any TaskExecutor)? {
        guard configuration.interceptors.isEmpty, configuration.credentials.isEmpty else { return nil }
        return engine.executor(for: origin, tls: configuration.tls)
    }

    // MARK: Requests

    /// Sends a request for `url` and follows its redirects.
    ///
    /// The way of a request: interceptors, once for the call; then, by policy, tries and hedged requests; each of them is the
    /// nine steps of `Call.follow`.
    ///
    /// - Parameters:
    ///   - body: the body.
    ///   - options: what this request does otherwise than configured.
    ///   - request: method and fields. Its `authority`, where it is not the URL's, is sent as the Host header and changes
    ///     nothing else.
    ///   - url: what is asked for; the name in it decides SNI, certificate, cookies and connection.
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
        try await Call(self, limits: request.options.limits ?? configuration.limits).run(request)
    }

    /// Leases a connection and carries one request over it; tells the resolver how the attempts went.
    func exchange(
        _ request: PreparedRequest,
        _ route: Route,
        _ limits: TimeLimits,
        _ screen: EndpointScreen?,
        _ upgrade: Call.Upgrade?
    ) async throws(DirectHTTPError) -> ExchangeResponse {
        guard case .direct = route else { return try await exchangeElsewhere(request, route, limits, upgrade) }
        let source = OriginEndpoints(resolver: resolver, pinned: configuration.pinned, screen: screen)
        do {
            let response = try await exchange(request, from: source, .direct, limits, upgrade)
            if !response.isReused { learn(from: response.connection.attempts, of: request.origin.host) }
            return response
        } catch {
            learn(from: error.attempts, of: request.origin.host)
            throw error
        }
    }

    /// Apart from the usual way, which needs none of the memory that this does.
    @inline(never)
    private func exchangeElsewhere(
        _ request: PreparedRequest,
        _ route: Route,
        _ limits: TimeLimits,
        _ upgrade: Call.Upgrade?
    ) async throws(DirectHTTPError) -> ExchangeResponse {
        try await exchange(request, from: ProxyEndpoints(resolver), route, limits, upgrade)
    }

    private func exchange(
        _ request: PreparedRequest,
        from source: some EndpointSource,
        _ route: Route,
        _ limits: TimeLimits,
        _ upgrade: Call.Upgrade?
    ) async throws(DirectHTTPError) -> ExchangeResponse {
        if let upgrade { return try await open(upgrade, request, from: source, route, limits) }
        return try await engine.exchange(request, from: source, route: route, tls: configuration.tls, limits: limits)
    }

    /// Opens a WebSocket; apart for the same reason.
    @inline(never)
    private func open(
        _ upgrade: Call.Upgrade,
        _ request: PreparedRequest,
        from source: some EndpointSource,
        _ route: Route,
        _ limits: TimeLimits
    ) async throws(DirectHTTPError) -> ExchangeResponse {
        try await engine.upgrade(
            WebSocketRequest(request, subprotocols: upgrade.subprotocols),
            from: source,
            route: route,
            tls: configuration.tls,
            settings: upgrade.settings,
            limits: limits
        )
    }

    @inline(never)
    func learn(from attempts: [Attempt], of host: Host) {
        resolver.learn(from: attempts, of: host, stagger: configuration.engine.dial.stagger)
    }

    // MARK: The switch, and the end

    /// Does what goes on by itself, until its task is cancelled or ``shutDown(after:)`` is called: watches the network and the
    /// remote switch, keeps names fresh, and writes the resolver's answers to its store; see `Resolver.run()`. Call it once,
    /// in a task of your program's own; without it the client works, and does none of this.
    public func run() async { await resolver.run() }

    /// The switch. Off: every name goes to the system's resolver, as if this library were not there. Connections that were
    /// dialled before it moved serve no further request.
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

    /// Lets no connection that is open now serve another request, after a change of network.
    public func retireConnections() { engine.retireConnections() }

    /// Ends the client: what comes after fails with `shutDown`, sockets are closed, questions ended. Returns when none is left.
    ///
    /// - Parameter grace: how long responses under way may take to their end; what is left then fails. Nothing new is asked
    ///   meanwhile, no redirect and no retry either, and WebSockets are closed at once.
    public func shutDown(after grace: Duration = .zero) async {
        if grace > .zero { await engine.shutDown(after: grace) }
        await resolver.shutdown()
        await engine.shutDown()
    }
}
