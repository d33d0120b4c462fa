// SPDX-License-Identifier: Apache-2.0

import Names

/// The cached answers of all names and networks. Decides whether an answer may be used, and which parts of a new answer
/// are kept.
struct CachedAnswers {
    /// The result of a cache lookup.
    enum Found {
        /// Within its TTL. `isDue`: in frequent use and about to expire, so it should be refreshed.
        case current(Resolution, isDue: Bool)
        /// The name is known to have no address, or all upstreams failed recently.
        case absent(ResolutionError)
        /// Past its TTL. `mayAsk`: the upstreams have not failed recently.
        case stale(Resolution, mayAsk: Bool)
        /// No usable entry.
        case unknown

        /// Whether the result is used without asking.
        var isFinal: Bool {
            switch self {
            case .current, .absent: true
            case .stale(_, let mayAsk): !mayAsk
            case .unknown: false
            }
        }
    }

    let configuration: ResolverConfiguration
    let rules: UseRules
    /// The upstreams, and the system last.
    let upstreams: [UpstreamProfile]
    var cache: AnswerCache
    /// The hosts of each address.
    var book: AddressBook
    /// The scope of the answers in use.
    private(set) var scope: CacheScope
    /// One for each upstream, shared by all answers of that upstream without failures.
    private(set) var provenances: [Provenance] = []
    /// The results of cache lookups.
    private(set) var counts = CacheCounts()

    init(_ configuration: ResolverConfiguration, upstreams: [UpstreamProfile], scope: CacheScope) {
        self.configuration = configuration
        self.upstreams = upstreams
        self.scope = scope
        rules = UseRules(configuration)
        cache = AnswerCache(maxEntries: configuration.cache.maxNames, maxOctets: configuration.cache.maxBytes)
        book = AddressBook(maxAddresses: configuration.cache.maxRememberedAddresses)
        use(scope, network: "")
    }

    /// Makes lookups use the answers of a scope; new answers are received in `network`.
    mutating func use(_ scope: CacheScope, network: String) {
        self.scope = scope
        guard provenances.first?.network != network else { return }
        provenances = upstreams.map { Provenance(upstream: $0.name, kind: $0.kind, network: network) }
    }

    /// Looks up a name with one hash. Allocates nothing while the stored order of the addresses is valid: programs make
    /// millions of these lookups per second. No event of ``LookupMachine``, because it has no action.
    mutating func find(
        _ request: LookupRequest,
        port: UInt16,
        now: Moment,
        ranking: EndpointRanking,
        countsMisses: Bool
    ) -> Found {
        let rules = rules
        let found =
            cache.find(AnswerCache.Key(request, scope: scope)) { entry in
                rules.evaluate(&entry, for: request, port: port, now: now, ranking: ranking)
            } ?? .unknown
        if countsMisses || found.isFinal { counts.add(found) }
        return found
    }

    /// Whether an entry past its TTL says that a name has no record of a family, and has an address of the other one.
    mutating func hadNone(_ request: LookupRequest, _ family: IPAddress.Family, now: Moment) -> Bool {
        let maxStale = rules.maxStale
        return cache.find(AnswerCache.Key(request, scope: scope)) { entry in
            guard let kept = entry[family], kept.absence == .noRecord, now < kept.expiresAt + maxStale else {
                return false
            }
            return entry.isUsable(for: .both, now: now, maxStale: maxStale)
        } ?? false
    }

    /// Records the end of an attempt at an endpoint of a name, after which the addresses are put in order again.
    ///
    /// - Returns: Whether all endpoints of the name have failed, so that the upstreams should be asked again.
    mutating func attemptEnded(
        at endpoint: Endpoint,
        of host: Host,
        hasFailed: Bool,
        now: Moment,
        ranking: EndpointRanking
    ) -> Bool {
        let (families, rules) = (configuration.families, rules)
        let key = AnswerCache.Key(LookupRequest(host: host, families: families), scope: scope)
        return cache.find(key) { entry in
            entry.order.until = .past
            guard hasFailed, now >= entry.forceAt else { return false }
            guard ranking.areAllDemoted(entry.addresses(of: families), port: endpoint.port, now: now) else {
                return false
            }
            // Expire the entry, so that the next caller waits for the upstreams; it serves as a fallback if they do
            // not answer.
            if rules.maxStale > .zero { entry.expire(families, at: now - rules.staleWhileRefresh) }
            entry.forceAt = now + rules.forcedRefreshInterval
            return true
        } ?? false
    }

    /// The names that were found in the cache in this network, the most used first; at most
    /// ``ResolverConfiguration/Refresh/maxNamesOnNetworkChange``.
    func namesInUse() -> [Host] {
        let count = configuration.refresh.maxNamesOnNetworkChange
        // The names that were used last are enough to choose from; a large cache takes long to read.
        return cache.all(atMost: min(count, 1_024) * 64)
            .filter { $0.key.scope == scope && $0.entry.uses > 0 }
            .sorted { $0.entry.uses > $1.entry.uses }
            .prefix(count)
            .compactMap { try? Host($0.key.name) }
    }

    // MARK: Forgetting

    /// Removes a name from the scope in use and from the system's, with the HTTPS records of its ports and the addresses
    /// of their targets. Answers for subnets are kept.
    mutating func forget(_ host: Host) {
        let suffix = "._https.\(host.text)"
        let isOfPort = { (key: AnswerCache.Key) in
            key.name.utf8.first == UInt8(ascii: "_") && key.name.hasSuffix(suffix)
        }
        var names = [host.text]
        for (key, entry) in cache.all() where key.scope == scope && (key.name == host.text || isOfPort(key)) {
            names += [key.name] + (entry.services?.routes.compactMap { $0.target?.text } ?? [])
        }
        for name in names {
            let hash = AnswerCache.Key.hash(of: name)
            for scope in [CacheScope.system, scope] { cache.remove(AnswerCache.Key(name, scope: scope, hash: hash)) }
        }
    }

    /// Removes the answers of a network.
    mutating func forget(_ scope: CacheScope) {
        cache.removeAll { key, _ in key.scope == scope }
    }

    /// Removes answers that came from a source which the policy does not allow for the name.
    mutating func apply(_ policy: NamePolicy) {
        cache.removeAll { key, entry in
            guard key.scope != .system, let name = key.name.split(separator: "/").first, let host = try? Host(name)
            else { return false }
            return policy.isForUpstreams(host) != (entry.provenance.kind == .service)
        }
    }
}
