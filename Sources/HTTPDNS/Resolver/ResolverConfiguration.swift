// SPDX-License-Identifier: Apache-2.0

public import Names

/// The settings and bounds of a ``Resolver``.
///
/// ```swift
/// var configuration = ResolverConfiguration(upstreams: [doh])
/// configuration.names.denied = ["intranet.example"]
/// configuration.limits.total = .seconds(3)
/// configuration.cache.staleWhileRefresh = .seconds(3_600)
/// let resolver = Resolver(configuration)
/// ```
public struct ResolverConfiguration: Sendable {
    /// The upstreams, in the order to ask them. Default: none, so that only ``system`` is asked.
    public var upstreams: [any Upstream]
    /// The upstream for names that are not for ``upstreams``: names that ``names`` excludes, and all names while the
    /// resolver is off. Nil: such names do not resolve. Default: the system's resolver.
    public var system: (any Upstream)?
    /// The order in which upstreams are asked. Default: ``UpstreamOrder/sequence``.
    public var order = UpstreamOrder.sequence
    /// The names that are for the upstreams. Default: all but private ones.
    public var names = NamePolicy()
    /// The address families to ask for if the caller does not specify any. Default: both.
    public var families = Families.both
    /// Whether upstreams are asked for the HTTPS records (RFC 9460) of `http` and `https` origins, together with the
    /// addresses. Upstreams that carry only addresses, such as DNSPod and the system, are never asked. Default: true.
    public var usesHTTPSRecords = true
    /// The checks that an answer must pass.
    public var check = AnswerCheck()
    /// The bounds of lookups: their time and their number.
    public var limits = Limits()
    /// Which answers are kept, and for how long.
    public var cache = Cache()
    /// Which answers are renewed in the background.
    public var refresh = Refresh()
    /// How the resolver observes the machine's network.
    public var network = NetworkWatch()
    /// A switch for all installations, polled by ``Resolver/run()``. Default: nil.
    public var remoteSwitch: RemoteSwitch?
    /// The destination of counters and timers. Default: nil: none are recorded.
    public var metrics: ResolverMetrics?
    /// The memory of failed upstreams and endpoints.
    package var ranking = Ranking()

    /// The defaults, with these upstreams and the system's resolver.
    public init(upstreams: [any Upstream] = []) { self.init(upstreams: upstreams, system: SystemUpstream()) }

    package init(upstreams: [any Upstream] = [], system: (any Upstream)?) {
        self.upstreams = upstreams
        self.system = system
    }

    /// The upstreams, and the system last. Without a system, the last is a table without names.
    var allUpstreams: [any Upstream] {
        let last: any Upstream = system ?? FixedUpstream(HostsTable(), name: "none")
        return upstreams + [last]
    }

    /// The bounds of lookups: their time and their number.
    public struct Limits: Hashable, Sendable {
        /// The time limit for a whole resolution. Default: 5 s.
        public var total = Duration.seconds(5)
        /// The time limit for one upstream. At its end, the next is asked. If ``total`` divided by the number of upstreams
        /// is shorter, the next is also asked when the last one has had that time; the earlier ones keep their time. With
        /// the defaults, four silent upstreams are asked after 0, 1.25, 2 and 3.25 s. Default: 2 s.
        public var upstream = Duration.seconds(2)
        /// How long an answer for one family waits for the other's, and the first address for HTTPS records (RFC 8305
        /// §3). Default: 50 ms.
        public var resolutionDelay = Duration.milliseconds(50)
        /// The maximum number of concurrent lookups. Further ones get an answer past its TTL if there is one, or fail
        /// with `tooManyLookups`. Default: 1,024.
        public var maxLookups = 1_024
        /// Consecutive failures after which an upstream counts as down. Default: 3.
        public var failuresUntilDown = 3
        /// The maximum number of concurrent lookups of a prefetch. Default: 8.
        package var prefetchWidth = 8
        /// The time limit for one connection of ``Resolver/probe(_:port:)``. Default: 2 s.
        package var probe = Duration.seconds(2)
        /// The maximum number of endpoints per name that ``Resolver/probe(_:port:)`` connects to. Default: 8.
        package var maxProbedEndpoints = 8

        /// The defaults.
        public init() {}
    }

    /// Which answers are kept, and for how long.
    public struct Cache: Sendable {
        /// The maximum number of cached names. Names that were not found again within their TTL are evicted first, then
        /// the least recently used. Default: 10,000.
        public var maxNames = 10_000
        /// The maximum estimated size of the cache in bytes. Default: 16 MiB.
        public var maxBytes = 16 << 20
        /// The bounds for how long an answer is cached, whatever its TTL. For the DNS messages that a server forwards,
        /// only the upper bound applies. Default: 0 s to 1 day.
        public var ttlRange = Duration.zero...Duration.seconds(86_400)
        /// TTL bounds for some domains, in place of ``ttlRange``. Default: none.
        public var ttlOverrides: DomainMap<ClosedRange<Duration>> = [:]
        /// The TTL of answers that have none, such as the system's. Default: 60 s.
        public var defaultTTL = Duration.seconds(60)
        /// The maximum time that a negative answer is cached (RFC 2308 §5). Default: 5 min.
        public var maxNegativeTTL = Duration.seconds(300)
        /// How long a negative answer without a TTL is cached. Default: 5 s.
        public var defaultNegativeTTL = Duration.seconds(5)
        /// How long a failure of all upstreams is cached before they are asked again (RFC 9520 §3.2). Default: 1 s.
        public var failureTTL = Duration.seconds(1)
        /// How long after its TTL an answer may be used if no upstream has a new one (RFC 8767). 0: never. Default:
        /// 12 h.
        public var maxStale = Duration.seconds(43_200)
        /// How long after its TTL an answer is used at once, while a new one is requested in the background. Default:
        /// 0 s: callers wait for the new answer.
        public var staleWhileRefresh = Duration.zero
        /// How long callers wait for a new answer before they get a stale one (RFC 8767 §5). Default: 1.8 s.
        public var staleAnswerDelay = Duration.milliseconds(1_800)
        /// How long stale answers are used without asking again, after a failure of all upstreams. Default: 30 s.
        package var staleRecheck = Duration.seconds(30)
        /// Keeps answers beyond the life of the process. Default: nil: none are kept.
        public var store: (any AnswerStore)?
        /// How often ``Resolver/run()`` writes answers to ``store``. Default: 60 s.
        package var storeInterval = Duration.seconds(60)
        /// Answers that this resolver shares with others. An answer that another resolver received from an upstream of
        /// the same name is used before that upstream is asked. Default: nil: none.
        public var shared: (any SharedAnswers)?
        /// The maximum number of addresses whose hosts ``Resolver/hosts(of:)`` returns. Default: 4,096.
        package var maxRememberedAddresses = 4_096

        /// The defaults.
        public init() {}
    }

    /// Which answers are renewed in the background.
    public struct Refresh: Hashable, Sendable {
        /// Names that ``Resolver/run()`` keeps fresh, used or not: they are refreshed after three quarters of their
        /// TTL. Default: none.
        public var hosts: [Host] = []
        /// The number of uses after which a name is refreshed when it is used in the last tenth of its TTL. Default: 3.
        public var minUses: UInt32 = 3
        /// The number of names in frequent use that are refreshed after a network change. Default: 32.
        public var maxNamesOnNetworkChange = 32
        /// The minimum time between two refreshes of a name that failed attempts cause. Default: 5 s.
        package var forcedInterval = Duration.seconds(5)

        /// The defaults.
        public init() {}
    }

    /// How the resolver observes the machine's network.
    public struct NetworkWatch: Sendable {
        /// Reports the machine's network to ``Resolver/run()``; nil: the network is not watched. Default: the system's
        /// reports.
        public var monitor: (any NetworkMonitor)? = SystemNetworkMonitor()
        /// Whether the upstreams are asked for the NAT64 prefix of an IPv6-only network as well as the system's resolver (RFC
        /// 7050). A DNS server that its own machine asks needs this: the system's resolver would only ask the server. Default:
        /// false.
        public var asksUpstreamsForNAT64 = false
        /// How long to wait after a network change before reading the new network. Default: 500 ms.
        package var debounce = Duration.milliseconds(500)
        /// Called when the machine is in another network, where connections to upstreams no longer work. Called again
        /// when the NAT64 prefixes of that network are known. Default: nil.
        public var onChange: (@Sendable (Network) -> Void)?

        /// The defaults.
        public init() {}
    }

    /// The memory of failed upstreams and endpoints.
    package struct Ranking: Hashable, Sendable {
        /// The longest interval between probes of an upstream that is down. The first probe follows after a second, and
        /// the interval doubles. Default: 30 s.
        package var probeInterval = Duration.seconds(30)
        /// How long an upstream that refuses the account is not asked. Default: 10 min.
        package var pauseAfterRefusal = Duration.seconds(600)
        /// How long an endpoint that failed is tried last. The time doubles with each failure, up to the upper bound.
        /// Default: 30 s to 10 min.
        package var demotion = Duration.seconds(30)...Duration.seconds(600)
        /// The maximum number of endpoints whose attempts are remembered. Default: 4,096.
        package var maxEndpoints = 4_096
    }
}
