// SPDX-License-Identifier: Apache-2.0

public import HTTPDNS
public import Names

/// The behaviour and the limits of a ``DNSServer``.
public struct DNSServerConfiguration: Sendable {
    /// The answer for a blocked name.
    public struct BlockedAnswer: Hashable, Sendable {
        let hasAddress: Bool

        /// The name does not exist (NXDOMAIN).
        public static let noSuchName = BlockedAnswer(hasAddress: false)
        /// The unspecified addresses 0.0.0.0 and ::. On most systems a connection to them reaches the client's own
        /// machine, so that it is usually refused at once; use ``noSuchName`` if a server listens there.
        public static let unspecifiedAddress = BlockedAnswer(hasAddress: true)
    }

    /// The endpoints for UDP and TCP; at least one. With port 0 the system chooses a port. Default: 127.0.0.1, port 53,
    /// which usually needs administrator rights.
    public var listen = [Endpoint(IPAddress(v4: 0x7f00_0001), port: 53)]
    /// The endpoints for DNS over TLS (RFC 7858), which need ``tls``. Default: none, which disables DNS over TLS.
    public var listenTLS: [Endpoint] = []
    /// The endpoint for HTTP requests for `/metrics` (Prometheus), `/health` (`ok`, or 503 while the server stops) and
    /// `/ready` (503 from ``DNSServer/stop()`` on, and while all upstreams of the server's resolver are down and there
    /// is no zone). Upstreams of ``resolversByDomain`` do not count: a load balancer would otherwise send no questions to
    /// any server because one private network is down. All clients that reach the endpoint may ask. Nil: none.
    /// Default: nil.
    public var listenMetrics: Endpoint?
    /// The TLS files. ``DNSServer/run()`` reads them again when they change. Default: nil.
    public var tls: ServerConfiguration.TLSFiles?
    /// The zone files (RFC 1035 §5.1). Names in a zone are answered from its file only. Default: none.
    public var zones: [String] = []
    /// The files of blocked names and of names with other addresses, in the formats of hosts(5) and dnsmasq. `0.0.0.0
    /// ads.example` and `address=/ads.example/` block a name and a domain; blocked names are answered as
    /// ``blockedAnswer`` says. `192.0.2.7 printer.lan` and `address=/lab.example/192.0.2.8` give them an address.
    /// `local=/corp.lan/` and `server=/corp.lan/` deny the names of a domain that are not in the lists. Other lines are
    /// ignored. The lists take precedence over everything else, and are read again when they change. 1,000,000 names or
    /// more are refused with `badList`. Default: none.
    public var listFiles: [String] = []
    /// The answer for blocked names. Default: ``BlockedAnswer/noSuchName``.
    public var blockedAnswer = BlockedAnswer.noSuchName
    /// Other resolvers for some domains and their subdomains. The caller owns them.
    /// ``DNSServer/reload(resolver:resolversByDomain:)`` replaces them. Default: none.
    public var resolversByDomain: DomainMap<Resolver> = [:]
    /// The clients that may ask this machine's own resolver for names that are not sent to the upstreams. Default:
    /// clients with a loopback address.
    public var privateNames = PrivateNameAccess.forLoopback
    /// The proxies that start each TCP and TLS connection with a header of the PROXY protocol; see
    /// ``ServerConfiguration/proxyProtocol``. The header is not supported over UDP. Default: none.
    public var proxyProtocol: [IPNetwork] = []
    /// The largest reply over UDP, in octets, even if the client accepts more. A larger reply is truncated, and the
    /// client asks again over TCP. 512 to 65,535; values outside count as the nearer bound. Default: 1,232, which is
    /// not fragmented.
    public var maxUDPPayloadBytes = 1_232
    /// Sustained questions per second of one client. An IPv6 /64 counts as one client. Clients with a loopback address
    /// have no limit. Over UDP, half of the questions above the limit get a truncated reply and the others get none. A
    /// forged source therefore receives little traffic. Nil for no limit. Default: 200.
    public var questionsPerSecond: Double? = 200
    /// Questions that one client may ask in a burst. Default: 1,000.
    package var burst = 1_000
    /// The number of clients to track. Default: 65,536.
    package var maxClients = 65_536
    /// The maximum number of questions that wait for upstreams; a quarter is left to TCP and TLS. Further ones get an
    /// answer past its TTL, or SERVFAIL. Over UDP, a client gets at most 1,000 SERVFAIL a second, and no reply above
    /// that. Default: 4,096.
    public var maxPendingQuestions = 4_096
    /// The maximum number of questions of one client that wait for upstreams, so that one client cannot take all
    /// lookups. Clients with a loopback address have no limit. Default: 256.
    package var waitingPerClient = 256
    /// How long a question for a private name waits for an equal one. Then it is refused, because this machine's
    /// resolver may have sent the earlier one back to this server. Default: 500 ms.
    package var loopTime = Duration.milliseconds(500)
    /// The maximum number of TCP and TLS connections; further ones are closed at once. Default: 1,000.
    public var maxConnections = 1_000
    /// The maximum number of connections of one client. Default: 100.
    public var connectionsPerClient = 100
    /// The maximum number of questions of one connection to answer at a time; others are read later. Default: 64.
    package var questionsPerConnection = 64
    /// The time that a connection may stay open without a pending question, and that a client may take to read a reply.
    /// Default: 10 s.
    public var idleTimeout = Duration.seconds(10)
    /// The time for which ``DNSServer/stop()`` first answers all questions, and `/ready` with 503, so that load
    /// balancers choose other servers. Default: 0 s.
    public var drainDelay = Duration.zero
    /// The time that ``DNSServer/stop()`` then waits for pending answers. Default: 5 s.
    public var drainTime = Duration.seconds(5)
    /// Whether upstreams receive the network that a client names (RFC 7871), cut to 24 bits for IPv4 and 56 for IPv6.
    /// Default: false.
    public var passesSubnets = false
    /// Called with the record of every answered question. Runs on event loops, so it must not block. Default: nil.
    public var accessLog: (@Sendable (AccessRecord) -> Void)?
    /// Called with the error of each changed file that cannot be used, while ``DNSServer/run()`` runs. Also called if
    /// the system closed a UDP socket that cannot be bound again, and if the server listens on all of more than 64
    /// addresses: the others get no UDP sockets. Default: nil.
    public var onReloadFailure: (@Sendable (ServerError) -> Void)?

    /// Makes a configuration with the defaults.
    public init() {}
}
