// SPDX-License-Identifier: Apache-2.0

public import Names

/// What a ``Resolver`` does, and its bounds.
public struct ResolverConfiguration: Sendable {
    /// Who answers names, in the order to ask. Default: none, so that only ``system`` is asked.
    public var upstreams: [any Upstream]
    /// Who answers the names that are not for the upstreams: all of them while the resolver is off, and those in
    /// ``denied``. Nil: such names have no answer. Default: ``SystemUpstream`` with its defaults.
    public var system: (any Upstream)?
    /// Which names are for the upstreams. Default: all but private ones.
    public var names = NamePolicy()
    /// Domains that the upstreams never hear of: those of ``names``. Default: none.
    public var denied: DomainSet {
        get { names.denied }
        set { names.denied = newValue }
    }
    /// The families that are asked for where the caller does not say. Default: both.
    public var families = Families.both
    /// What answers must be like.
    public var check = AnswerCheck()

    /// In which order upstreams are asked. Default: ``UpstreamOrder/sequence``.
    public var order = UpstreamOrder.sequence
    /// The time that one upstream has before the next is asked. Default: 2 s.
    public var upstreamBudget = Duration.seconds(2)
    /// The time for a whole resolution. Default: 5 s.
    public var timeLimit = Duration.seconds(5)
    /// How long an answer for one family waits for the other's (RFC 8305 §3). Default: 50 ms.
    public var resolutionDelay = Duration.milliseconds(50)

    /// Names that are kept; the one used longest ago goes first. Default: 10,000.
    public var maxCachedNames = 10_000
    /// Octets that the kept names may take, by estimate. Default: 16 MiB.
    public var maxCachedOctets = 16 << 20
    /// The shortest and the longest time that an answer is kept, whatever its TTL. Default: 0 s to 1 day.
    public var ttlRange = Duration.zero...Duration.seconds(86_400)
    /// Bounds for the TTLs of some domains, instead of ``ttlRange``. Default: none.
    public var ttlOverrides: DomainMap<ClosedRange<Duration>> = [:]
    /// The TTL of answers that come without one, such as the system's. Default: 60 s.
    public var defaultTTL = Duration.seconds(60)
    /// The longest time that "there is none" is kept (RFC 2308 §5). Default: 5 min.
    public var maxNegativeTTL = Duration.seconds(300)
    /// How long "there is none" is kept when the answer does not say. Default: 5 s.
    public var defaultNegativeTTL = Duration.seconds(5)
    /// How long a failure of all upstreams is kept before they are asked again (RFC 9520 §3.2). Default: 1 s.
    public var failureTTL = Duration.seconds(1)
    /// How long after the end of its TTL an answer may be used when no upstream has a new one (RFC 8767). 0: never.
    /// Default: 12 h.
    public var maxStale = Duration.seconds(43_200)
    /// How long after the end of its TTL an answer is used at once, and a new one asked for behind. Default: 0 s, so
    /// that callers wait for the new one.
    public var staleWhileRefresh = Duration.zero
    /// How long callers wait for a new answer before they are given one past its TTL (RFC 8767 §5). Default: 1.8 s.
    public var staleAnswerDelay = Duration.milliseconds(1_800)
    /// After a failure of all upstreams: how long answers past their TTL are used without asking again. Default: 30 s.
    public var staleRecheck = Duration.seconds(30)
    /// Uses after which a name counts as hot: it is asked for again in the last tenth of its TTL, behind a use.
    /// Default: 3.
    public var refreshUses: UInt32 = 3
    /// Names that are kept fresh while ``Resolver/run()`` runs, used or not: asked for again after three quarters of
    /// their TTL. Default: none.
    public var keptFresh: [Host] = []
    /// Hot names that are asked for again when the network has changed. Default: 32.
    public var refreshedOnChange = 32
    /// What says in which network the machine is, while ``Resolver/run()`` runs; nil: nobody. Default:
    /// ``SystemNetworkMonitor``.
    public var networkMonitor: (any NetworkMonitor)? = SystemNetworkMonitor()
    /// How long the network must have been at rest before it is looked at anew. Default: 500 ms.
    public var networkDebounce = Duration.milliseconds(500)
    /// Called when the machine is in another network: connections to upstreams are of no use then; and again when it is known
    /// where that network's NAT64 is. Default: nil.
    public var networkDidChange: (@Sendable (Network) -> Void)?
    /// A switch for all installations, looked at while ``Resolver/run()`` runs. Default: nil.
    public var remoteSwitch: RemoteSwitch?
    /// Where counters and times go. Default: nil, nowhere.
    public var metrics: ResolverMetrics?
    /// Answers that this resolver shares with others; what they were told by an upstream of the same name is taken before
    /// that upstream is asked. Default: nil, none.
    public var shared: (any SharedAnswers)?
    /// Where answers outlive the process. Default: nil, nowhere.
    public var store: (any AnswerStore)?
    /// How often answers are written to ``store``, while ``Resolver/run()`` runs. Default: 60 s.
    public var storeInterval = Duration.seconds(60)

    /// Names that are asked for at the same time; more fail with `tooManyFlights`. Default: 1,024.
    public var maxFlights = 1_024
    /// Names that a prefetch asks for at the same time. Default: 8.
    public var prefetchWidth = 8

    /// Failures in a row after which an upstream counts as down. Default: 3.
    public var failuresUntilDown = 3
    /// How often an upstream that is down is asked to see whether it is back. Default: 30 s.
    public var probeInterval = Duration.seconds(30)
    /// For how long an upstream that refuses our account is left alone. Default: 10 min.
    public var pauseAfterRefusal = Duration.seconds(600)

    /// How long one connection of ``Resolver/probe(_:port:)`` may take. Default: 2 s.
    public var probeLimit = Duration.seconds(2)
    /// Endpoints of one name that ``Resolver/probe(_:port:)`` connects to. Default: 8.
    public var maxProbedEndpoints = 8

    /// For how long an endpoint that failed is tried last; it doubles with each failure, up to the upper bound.
    /// Default: 30 s to 10 min.
    public var demotion = Duration.seconds(30)...Duration.seconds(600)
    /// Endpoints whose failures are remembered. Default: 4,096.
    public var maxRankedEndpoints = 4_096
    /// Addresses for which ``Resolver/hosts(of:)`` knows the hosts. Default: 4,096.
    public var maxRememberedAddresses = 4_096
    /// The shortest time between two refreshes that failed attempts force for one name. Default: 5 s.
    public var forcedRefreshInterval = Duration.seconds(5)

    /// The defaults, with these upstreams.
    public init(upstreams: [any Upstream] = [], system: (any Upstream)? = SystemUpstream()) {
        self.upstreams = upstreams
        self.system = system
    }
}
