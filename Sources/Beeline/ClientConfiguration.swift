// SPDX-License-Identifier: Apache-2.0

public import CookieJar
public import DirectHTTP
public import HTTPDNS
public import Names

/// What a ``BeelineClient`` is made of.
public struct ClientConfiguration: Sendable {
    /// Who is asked for names, in this order. Default: ``UpstreamSpec/standard``.
    public var upstreams: [UpstreamSpec] = UpstreamSpec.standard
    /// The resolver's policy and bounds. Its own `upstreams` are asked before ``upstreams``.
    public var resolver = ResolverConfiguration()
    /// Whether HTTPDNS is on when the client starts. Default true; ``BeelineClient/isHTTPDNSEnabled`` switches it later.
    public var isHTTPDNSEnabled = true
    /// Endpoints of origins that nobody is asked for, like curl's `--resolve`; they hold whatever the switch says.
    /// Default none.
    public var pinned: [Pin: [IPAddress]] = [:]
    /// Origins that are reached by a Unix domain socket instead, by its path; nobody is asked for their endpoints and no proxy is
    /// used. Default none.
    public var unixSockets: [Pin: String] = [:]
    /// The cookies; nil: none are sent and none kept. Default: a jar in memory.
    public var jar: CookieJar? = CookieJar()
    /// The proxies. Default: those of the environment, as curl reads them; on Apple's systems else those of the settings.
    public var proxies = ProxySettings.standard
    /// How TLS is done, with origins and upstreams alike. Upstreams are not shown the client certificate, and pins that cover
    /// every host do not hold for them.
    public var tls = TLSSettings()
    /// How long a request may take, its interceptors, redirects, tries and the waits between them included.
    public var limits = TimeLimits()
    /// When a request is tried again. Default: never.
    public var retry = RetryPolicy.none
    /// When a request is sent a second time because the answer takes long; nil, the default: never.
    public var hedge: HedgePolicy?
    /// Who the client is, by origin. Default: nobody.
    public var credentials: [Origin: Credentials] = [:]
    /// What stands between callers and the client, in the order in which they are called. Default none.
    public var interceptors: [any Interceptor] = []
    /// Who hears what happens: logs, metrics and traces. Default nobody.
    public var observability = Observability()
    /// What happens to redirects. Default: 20 are followed.
    public var redirects = RedirectPolicy.follow(limit: 20)
    /// `User-Agent` of requests that have none; nil: none is sent.
    public var userAgent: String? = "Beeline/\(BeelineClient.version)"
    /// `Accept` of requests that have none; nil: none is sent. Default: anything.
    public var accept: String? = "*/*"
    /// Whether gzip and deflate are offered and undone where a request does not say `Accept-Encoding` itself, and asks for no
    /// `Range`. Default true.
    public var decodesContent = true
    /// The bounds of the pool and of responses' heads.
    public var engine = EngineConfiguration()

    /// The defaults.
    public init() {}

    /// A host and port with endpoints of its own.
    public struct Pin: Hashable, Sendable {
        /// The host.
        public var host: Host
        /// The port; nil: every port.
        public var port: UInt16?

        /// A pin.
        public init(_ host: Host, port: UInt16? = nil) {
            self.host = host
            self.port = port
        }
    }
}

extension ClientConfiguration {
    /// Who the client is to an origin; a WebSocket's is that of its handshake too.
    func credentials(for origin: Origin) -> Credentials? {
        credentials.isEmpty ? nil : credentials[origin] ?? credentials[origin.httpEquivalent]
    }

    /// The way to an origin: a socket of this machine, a proxy, or straight.
    ///
    /// - Throws: `proxyUnresolved` where there should be a proxy on it, and nobody can say which.
    func route(to origin: Origin) throws(BeelineError) -> Route {
        if !unixSockets.isEmpty,
            let path = unixSockets[Pin(origin.host, port: origin.port)] ?? unixSockets[Pin(origin.host)]
        {
            return .unixSocket(path)
        }
        if let problem = proxies.problem(with: origin) { throw BeelineError(.proxyUnresolved, "\(origin): \(problem)") }
        return proxies.route(to: origin)
    }
}

/// What happens to a response that says where to go instead (RFC 9110 §15.4).
public enum RedirectPolicy: Sendable, Hashable {
    /// It is the response.
    case none
    /// It is followed, this many times at the most; one more is an error (`tooManyRedirects`).
    case follow(limit: Int)
}
