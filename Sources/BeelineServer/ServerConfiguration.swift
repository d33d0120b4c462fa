// SPDX-License-Identifier: Apache-2.0

public import Names

/// What an ``HTTPDNSServer`` does, and its bounds.
public struct ServerConfiguration: Sendable {
    /// Certificate chain and private key in PEM files; both are read again by ``HTTPDNSServer/reload(accounts:)``.
    public struct TLSFiles: Hashable, Sendable {
        /// The chain, the server's own certificate first.
        public var certificate: String
        /// The private key.
        public var key: String

        /// Files.
        public init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// Where to listen; port 0: the system picks one. Default: 127.0.0.1, port 8053.
    public var listen = Endpoint(IPAddress(v4: 0x7f00_0001), port: 8_053)
    /// TLS; nil: HTTP/1.1 in the clear. Default: nil.
    public var tls: TLSFiles?
    /// Zone files (RFC 1035 §5.1); names in them are answered from them and from nowhere else. Default: none.
    public var zones: [String] = []
    /// How often zone files are looked at for changes. Default: 1 s.
    public var zoneInterval = Duration.seconds(1)
    /// Who may ask in the forms that have accounts. With none, those forms are open to all where they are not signed, and
    /// signed questions are refused. Default: none.
    public var accounts: [ServerAccount] = []
    /// Where Aliyun's clients are told to ask (`/{account}/ss`): behind a load balancer, the balancer's endpoints. Default:
    /// none, so that they are told the endpoint that they came to.
    public var announced: [Endpoint] = []
    /// Whether every question must come from an account, so that the forms without accounts are refused. Default: false.
    public var requiresAccount = false

    /// Proxies whose word is taken for who their clients are: their `X-Forwarded-For`, from its end up to the first address that is
    /// not theirs, says whom limits and the access log count. Others' is not looked at. Default: none.
    public var trustedProxies: [IPNetwork] = []
    /// Questions a second that one client may ask for long; IPv6 clients count by /64. Nil: no limit. Default: 200.
    public var questionsPerSecond: Double? = 200
    /// Questions that one client may ask at once. Default: 1,000.
    public var burst = 1_000
    /// Clients that are told apart; beyond, those that have been quiet longest are forgotten. Default: 65,536.
    public var maxClients = 65_536
    /// Connections at a time, as far as the process may have descriptors; more are closed at once. Default: 10,000.
    public var maxConnections = 10_000
    /// Connections at a time of one client; IPv6 clients count by /64. More are closed at once. Trusted proxies have no such
    /// limit. Default: 1,000.
    public var connectionsPerClient = 1_000
    /// HTTP/2 streams of one connection. Default: 250.
    public var streamsPerConnection = 250
    /// From accepting a connection to the end of its TLS handshake. Default: 10 s.
    public var handshakeTimeout = Duration.seconds(10)
    /// From a request's first octet to its last. Default: 10 s.
    public var requestTimeout = Duration.seconds(10)
    /// How long a client may take to read a reply. Default: 30 s.
    public var replyTimeout = Duration.seconds(30)
    /// How long a connection may stay without a request. Default: 60 s.
    public var idleTimeout = Duration.seconds(60)
    /// How long ``HTTPDNSServer/stop()`` waits for answers under way. Default: 5 s.
    public var drainTime = Duration.seconds(5)
    /// Whether what a client says of its network (EDNS client subnet, `ip`, `cip`) is told the upstreams. Default: true.
    public var passesSubnets = true
    /// The longest prefixes that are told of it, for IPv4 and IPv6 (RFC 7871 §11.1). Default: 24 and 56.
    public var subnetPrefixes = (v4: 24, v6: 56)
    /// Told of every question that was answered; called on event loops, so it must not wait. Default: nil.
    public var accessLog: (@Sendable (AccessRecord) -> Void)?
    /// Told of zone files that have changed and cannot be used, while ``HTTPDNSServer/run()`` runs; what they said before is
    /// served on. Default: nil.
    public var reloadFailed: (@Sendable (ServerError) -> Void)?

    /// The defaults.
    public init() {}
}
