// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
public import HTTPDNS
public import Names

/// The configuration of a ``BeelineClient``.
public struct ClientConfiguration: Sendable {
    /// The upstreams, tried in this order. Default `UpstreamSpec.standard`. Put your own implementations of `Upstream`
    /// into ``resolver``.
    public var upstreams: [UpstreamSpec] {
        get { ownUpstreams ?? UpstreamSpec.standard }
        set { ownUpstreams = newValue }
    }
    /// Nil until ``upstreams`` is set, because parsing the standard ones takes too long for a short command.
    package private(set) var ownUpstreams: [UpstreamSpec]?
    /// The policy and limits of the resolver. Its own `upstreams` come before ``upstreams``.
    public var resolver = ResolverConfiguration()
    /// Whether HTTPDNS is on at the start. Default true; ``BeelineClient/isHTTPDNSEnabled`` changes it later.
    public var isHTTPDNSEnabled = true
    /// Fixed addresses of origins, like curl's `--resolve`. The client does not resolve these hosts. They apply whether HTTPDNS
    /// is on or off. Default none.
    public var pinned: [Pin: [IPAddress]] = [:]
    /// Fixed addresses for a port, for every host without other fixed addresses (curl's `--resolve "*:PORT:ADDRESS"`).
    /// Default none.
    package var pinnedPorts: [UInt16: [IPAddress]] = [:]
    /// Rules that replace the host and port of an origin's connections, like curl's `--connect-to`. The first rule that
    /// matches counts. Host, SNI, certificate check and cookies still use the origin. Default none.
    package var connectTo: [ConnectRule] = []
    /// The path of a Unix domain socket to connect to in place of every origin, like curl's `--unix-socket`. The client
    /// then neither resolves hosts nor uses a proxy. Default `nil`.
    package var unixSocket: String?
    /// Paths of Unix domain sockets to connect to in place of origins. The client neither resolves these hosts nor uses a proxy
    /// for them. Default none.
    public var unixSockets: [Pin: String] = [:]
    /// The proxies. Default: those of the environment, as curl reads them. On Apple platforms, if the environment sets
    /// none, those of the system settings.
    public var proxies = ProxySettings.standard
    /// The TLS settings, for origins and upstreams. The client certificate and pins that cover every host do not apply to
    /// upstreams.
    public var tls = TLSSettings()
    /// The time limits of a call, including its interceptors, redirects, tries and the waits between them. Default
    /// those of `TimeLimits()`: 10 s to connect, 60 s without data, no limit in all.
    public var limits = TimeLimits()
    /// The retry policy. Default: no retries.
    public var retry = RetryPolicy.off
    /// When to send a second, equal request because the response is slow. Default `nil`: never.
    public var hedge: HedgePolicy?
    /// The credentials for each origin. Default none.
    public var credentials: [Origin: Credentials] = [:]
    /// Returns the credentials for a URL without a password, for example those of a ``Netrc``. Called for the URL of a
    /// request without ``RequestOptions/credentials``, and for each redirect to another origin. The function must not
    /// block. Default `nil`.
    public var credentialSource: (@Sendable (HTTPURL) -> Credentials?)?
    /// The interceptors, in calling order. Default none.
    public var interceptors: [any Interceptor] = []
    /// The logger, metrics and tracer. Default none.
    public var observability = Observability()
    /// The redirect policy. Default: up to 20 redirects.
    public var redirects = RedirectPolicy.follow(limit: 20)
    /// The allowed method, fields and URLs of redirected requests.
    public var redirectRules = RedirectRules()
    /// The `User-Agent` of requests without that field; `nil` sends none.
    public var userAgent: String? = "Beeline/\(BeelineClient.version)"
    /// The `Accept` of requests without that field; `nil` sends none. Default `*/*`.
    public var accept: String? = "*/*"
    /// Whether the client offers and decodes gzip and deflate, and with the package's traits `Brotli` and `Zstandard` also br and
    /// zstd. This does not apply to a request with its own `Accept-Encoding` or a `Range`. Default true.
    public var decodesContent = true
    /// The limits of the connection pool and of response heads.
    public var engine = EngineConfiguration()

    /// Creates a configuration with default values.
    public init() {}

    /// A host and port with fixed endpoints.
    public struct Pin: Hashable, Sendable {
        /// The host.
        public var host: Host
        /// The port; `nil` for every port.
        public var port: UInt16?

        /// Creates a pin.
        public init(_ host: Host, port: UInt16? = nil) {
            self.host = host
            self.port = port
        }
    }
}

extension ClientConfiguration {
    /// The credentials for an origin. A `ws` or `wss` origin also uses those of its `http` or `https` equivalent.
    func credentials(for origin: Origin) -> Credentials? {
        credentials.isEmpty ? nil : credentials[origin] ?? credentials[origin.httpEquivalent]
    }
}
