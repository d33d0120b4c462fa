// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
public import Names

/// Resolves names to endpoints: asks upstreams, caches their answers, and reports the source of each answer.
///
/// ```swift
/// let resolver = Resolver(ResolverConfiguration(upstreams: [doh, dnspod, SystemUpstream()]))
/// let resolution = try await resolver.resolve(Host("api.example.com"), port: 443)
/// print(resolution.endpoints, resolution.source, resolution.ttl)
/// await resolver.shutdown()
/// ```
///
/// Work that outlives a call, such as a refresh started by ``cached(_:port:families:subnet:)``, belongs to the resolver
/// and ends with ``shutdown()``. Background work (watching the network and the remote switch, keeping names fresh)
/// happens only in ``run()``.
public final class Resolver: Sendable {
    /// The configuration that the resolver was created with.
    public let configuration: ResolverConfiguration

    let time: Timekeeper
    /// A random number in 0..<1.
    let random: @Sendable () -> Double
    /// The cache, split into shards with one lock each.
    let shards: [NIOLockedValueBox<Shard>]
    /// The results of connection attempts. Its lock may be taken inside a shard's or the state's lock, never the other way
    /// round.
    let ranking: NIOLockedValueBox<EndpointRanking>
    /// Lookups under way, the upstreams' health and the switches. A shard's lock may be taken inside its lock, never
    /// the other way round.
    let state: NIOLockedValueBox<State>
    /// The hosts of each address. Its lock is never held together with another.
    let book: NIOLockedValueBox<AddressBook>
    /// The event loop for callers that are on none. It is always the same, so that connections to upstreams are reused.
    let loop: any EventLoop = MultiThreadedEventLoopGroup.singleton.any()

    /// One shard of the cache.
    struct Shard {
        var cache: AnswerCache
        /// The realm of the answers in use.
        var realm: Realm
        /// One for each upstream and one for the system, shared by all their answers without failures. Each shard has
        /// its own copies: threads that look up different names would contend for a common reference count.
        var provenances: [Provenance]
        /// The results of cache lookups, for ``Resolver/counts``.
        var counts = CacheCounts()
    }

    /// A resolver with a configuration.
    ///
    /// - Parameters:
    ///   - configuration: Upstreams, policy and bounds.
    ///   - clock: The clock for TTLs, budgets and delays. Tests pass one that they advance by hand.
    public convenience init(_ configuration: ResolverConfiguration, clock: any Clock<Duration> = ContinuousClock()) {
        self.init(configuration, clock: clock, random: { .random(in: 0..<1) })
    }

    package init(
        _ configuration: ResolverConfiguration,
        clock: any Clock<Duration>,
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        wallClock: (@Sendable () -> Int64)? = nil
    ) {
        self.configuration = configuration
        self.random = random
        time = Timekeeper(clock, wallClock: wallClock ?? SigningClock.deviceTime)
        // A small cache has one shard, so that eviction is by the age of all entries.
        var count = 1
        while count < 64, configuration.maxCachedNames / (count * 2) >= 128 { count *= 2 }
        let state = State(configuration)
        shards = (0..<count).map { _ in
            let cache = AnswerCache(
                maxEntries: configuration.maxCachedNames / count,
                maxOctets: configuration.maxCachedOctets / count
            )
            return NIOLockedValueBox(
                Shard(cache: cache, realm: state.realms.current, provenances: configuration.provenances(""))
            )
        }
        ranking = NIOLockedValueBox(EndpointRanking(limits: configuration.rankingLimits))
        self.state = NIOLockedValueBox(state)
        book = NIOLockedValueBox(AddressBook(maxAddresses: configuration.maxRememberedAddresses))
    }

    deinit {
        state.withLockedValue { $0.ticker?.task.cancel() }
    }

    // MARK: Resolving

    /// The endpoints of a name: from the cache within the TTL, otherwise from the upstreams. Concurrent calls for the
    /// same name share one lookup.
    ///
    /// - Parameters:
    ///   - host: A name, or an address, which resolves to itself.
    ///   - port: The port of the endpoints.
    ///   - families: The address families to ask for; nil: those of the configuration.
    ///   - subnet: The network to resolve for (RFC 7871); nil: the client's own. Answers are cached by subnet.
    ///   - fresh: Whether to ask the upstreams even if the cache has an answer.
    /// - Throws: ``ResolutionError``. A cancelled task gets the code `cancelled` at once.
    public func resolve(
        _ host: Host,
        port: UInt16 = 443,
        families: Families? = nil,
        subnet: IPNetwork? = nil,
        fresh: Bool = false
    ) async throws(ResolutionError) -> Resolution {
        let request = LookupRequest(host: host, families: families ?? configuration.families, subnet: subnet)
        let now = time.now()
        if let known = try known(request, port, fresh: fresh, now) { return known }
        return try resolution(try await join(request, isFresh: fresh, now), request, port)
    }

    /// Answers that need no upstream. Kept out of ``resolve(_:port:families:subnet:fresh:)`` so that the async frame
    /// stays small.
    @inline(never)
    private func known(
        _ request: LookupRequest,
        _ port: UInt16,
        fresh: Bool,
        _ now: Moment
    ) throws(ResolutionError) -> Resolution? {
        if let known = own(request.host, port) { return known }
        if !fresh {
            switch find(request, port, now) {
            case .current(let resolution, let isDue):
                if isDue { refresh(request) }
                return resolution
            case .absent(let error): throw error
            case .stale(let resolution, let mayAsk):
                // A stale resolution with a remaining TTL has only one family, and the caller wants both.
                guard mayAsk, resolution.ttl > .zero || resolution.ttl <= .zero - configuration.staleWhileRefresh else {
                    if mayAsk { refreshMissed(request) }
                    return resolution
                }
            case .unknown: break
            }
        }
        return loopback(request, port)
    }

    /// The endpoints of an origin.
    ///
    /// - Throws: ``ResolutionError``; see ``resolve(_:port:families:subnet:fresh:)``.
    public func resolve(_ origin: Origin) async throws(ResolutionError) -> Resolution {
        try await resolve(origin.host, port: origin.port)
    }

    /// The cached endpoints of a name; never waits. If they are missing or expired, a lookup in the background fetches
    /// them for the next call.
    ///
    /// - Returns: Nil if there is no usable address. A ``Resolution/Source/stale`` resolution is at most
    ///   ``ResolverConfiguration/maxStale`` past its TTL.
    public func cached(
        _ host: Host,
        port: UInt16 = 443,
        families: Families? = nil,
        subnet: IPNetwork? = nil
    ) -> Resolution? {
        if let known = own(host, port) { return known }
        let request = LookupRequest(host: host, families: families ?? configuration.families, subnet: subnet)
        switch find(request, port, time.now()) {
        case .current(let resolution, let isDue):
            if isDue { refresh(request) }
            return resolution
        case .absent: return nil
        case .stale(let resolution, let mayAsk):
            if mayAsk { refreshMissed(request) }
            return resolution
        case .unknown:
            if let loopback = loopback(request, port) { return loopback }
            refreshMissed(request)
            return nil
        }
    }

    // MARK: Forgetting

    /// Removes a name from the cache, for the current network and the system. Answers for subnets are kept.
    public func forget(_ host: Host) {
        let hash = AnswerCache.Key.hash(of: host.text)
        shard(hash).withLockedValue { shard in
            for realm in [Realm.system, shard.realm] {
                shard.cache.remove(AnswerCache.Key(host.text, realm: realm, hash: hash))
            }
        }
    }

    /// Removes all names from the cache.
    public func forgetAll() {
        for shard in shards { shard.withLockedValue { $0.cache.removeAll() } }
    }

    // MARK: Shutdown

    /// Ends all lookups and returns when no upstream is being asked. Waiting callers get the error `shutDown`.
    /// ``cached(_:port:families:subnet:)`` still returns what the cache has.
    public func shutdown() async {
        close()
        await settled()
    }

    /// Returns when no upstream is being asked.
    package func settled() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isIdle = state.withLockedValue { state in
                guard state.running > 0 else { return true }
                state.idlers.append(continuation)
                return false
            }
            if isIdle { continuation.resume() }
        }
    }

    /// The number of callers that wait for a lookup.
    package var waitingCallers: Int {
        state.withLockedValue { $0.lookups.all.reduce(0) { $0 + $1.callers.count } }
    }
}
