// SPDX-License-Identifier: Apache-2.0

public import Names
public import Tracing

/// The behaviour and the limits of an ``HTTPDNSServer``.
public struct ServerConfiguration: Sendable {
    /// The PEM files of the certificate chain and the private key. ``HTTPDNSServer/run()`` reads both again when they
    /// change, and ``HTTPDNSServer/reload(accounts:)`` does at once.
    public struct TLSFiles: Hashable, Sendable {
        /// The path of the chain, which starts with the server's own certificate.
        public var certificate: String
        /// The path of the private key.
        public var key: String

        /// Makes the pair of paths.
        public init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// The endpoint to listen on. With port 0 the system chooses the port. Default: 127.0.0.1, port 8053.
    public var listen = Endpoint(IPAddress(v4: 0x7f00_0001), port: 8_053)
    /// The descriptor of a TCP socket that is already listening, such as one from systemd. The server uses it instead
    /// of ``listen`` and closes it. Default: nil.
    public var listeningSocket: CInt?
    /// The TLS files. Nil serves HTTP/1.1 in cleartext. Default: nil.
    public var tls: TLSFiles?
    /// The zone files (RFC 1035 §5.1). Names in a zone are answered from its file only. Default: none.
    public var zones: [String] = []
    /// The interval between checks for changed files. Default: 1 s.
    package var zoneInterval = Duration.seconds(1)
    /// The accounts that may ask in the forms that have accounts. Without accounts, unsigned questions are open to all clients,
    /// and signed questions are refused. Default: none.
    public var accounts: [ServerAccount] = []
    /// Counts the questions of accounts with a ``ServerAccount/quota`` for several servers together. Nil: each server counts alone.
    /// Default: nil.
    public var quotas: (any QuotaStore)?
    /// The endpoints that Aliyun's clients receive from `/{account}/ss`. Behind a load balancer, set the balancer's endpoints. If
    /// empty, clients receive the endpoint that they connected to. Default: none.
    public var announced: [Endpoint] = []
    /// Whether every question must come from an account. If true, the forms without accounts are refused. Default: false.
    public var requiresAccount = false

    /// The clients that may ask this machine's own resolver for names that are not sent to the upstreams. List a proxy on this
    /// machine in ``trustedProxies``; otherwise its clients count as programs on this machine. Default: clients with a loopback address.
    public var privateNames = PrivateNameAccess.forLoopback
    /// The proxies whose `X-Forwarded-For` is trusted. The field is read from its end up to the first address that is not a
    /// trusted proxy. That address is the client for limits and the access log. The field is ignored from other peers. Default:
    /// none.
    public var trustedProxies: [IPNetwork] = []
    /// The proxies and load balancers that start each connection with a header of the PROXY protocol, version 1 or 2. The address
    /// in it is the client for limits, ``privateNames`` and the access log. Connections of these peers without the header are
    /// closed; from other peers the header is malformed input. Default: none.
    public var proxyProtocol: [IPNetwork] = []
    /// Sustained questions per second of one client. An IPv6 /64 counts as one client. Nil for no limit. Default: 200.
    public var questionsPerSecond: Double? = 200
    /// Questions that one client may ask in a burst. Default: 1,000.
    package var burst = 1_000
    /// The number of clients to track. Above it, the clients that have been idle longest are forgotten. Default: 65,536.
    package var maxClients = 65_536
    /// The maximum number of connections, reduced to fit the process's descriptor limit. Further connections are closed at once.
    /// Default: 10,000.
    public var maxConnections = 10_000
    /// The maximum number of connections of one client. An IPv6 /64 counts as one client. Further connections are closed at once.
    /// The limit does not apply to trusted proxies. Default: 1,000.
    public var connectionsPerClient = 1_000
    /// The maximum number of HTTP/2 streams of one connection. Default: 250.
    package var streamsPerConnection = 250
    /// The time from accepting a connection to the end of its PROXY header, and from there to the end of its TLS handshake.
    /// Default: 10 s.
    package var handshakeTimeout = Duration.seconds(10)
    /// The time from the first octet of a request to its last. Default: 10 s.
    public var requestTimeout = Duration.seconds(10)
    /// The time that a client may take to read a reply. Default: 30 s.
    package var replyTimeout = Duration.seconds(30)
    /// The time that a connection may stay open without a request. Default: 60 s.
    public var idleTimeout = Duration.seconds(60)
    /// The time from the call of ``HTTPDNSServer/stop()`` until new connections are refused. Meanwhile `/ready` answers 503 and
    /// everything else works, so that a load balancer can take the server out of its list. Default: 0 s.
    public var drainDelay = Duration.zero
    /// The time that ``HTTPDNSServer/stop()`` waits for pending answers after new connections are refused. Default: 5 s.
    public var drainTime = Duration.seconds(5)
    /// Whether upstreams receive the network that a client names (EDNS client subnet, `ip`, `cip`). Default: true.
    public var passesSubnets = true
    /// Makes a span for each request, as a child of the one in its `traceparent`. Requests above a client's limit and
    /// those for `/metrics`, `/health` and `/ready` have none. Only this tracer is used, never the one of the process.
    /// Default: nil.
    public var tracer: (any Tracer)?
    /// Called with the record of every answered question. Runs on event loops, so it must not block. Default: nil.
    public var accessLog: (@Sendable (AccessRecord) -> Void)?
    /// Called with the error of each changed zone file or certificate that cannot be used, while
    /// ``HTTPDNSServer/run()`` runs. The server keeps the previous content. Default: nil.
    public var onReloadFailure: (@Sendable (ServerError) -> Void)?

    /// Makes a configuration with the defaults.
    public init() {}
}
