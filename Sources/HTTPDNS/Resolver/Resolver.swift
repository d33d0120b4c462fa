// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
public import Names

/// Names to endpoints: asks upstreams, keeps what they say, and says how it knows.
///
/// ```swift
/// let resolver = Resolver(ResolverConfiguration(upstreams: [doh, dnspod, SystemUpstream()]))
/// let resolution = try await resolver.resolve(Host("api.example.com"), port: 443)
/// print(resolution.endpoints, resolution.source, resolution.ttl)
/// await resolver.shutdown()
/// ```
///
/// All work that outlives a call, such as a refresh behind ``cached(_:port:families:subnet:)``, belongs to the
/// resolver and ends with ``shutdown()``. What goes on by itself (watching the network, the remote switch, keeping
/// names fresh) runs in ``run()``, and not at all where that is not called.
public final class Resolver: Sendable {
    /// What the resolver was made with.
    public let configuration: ResolverConfiguration

    let time: Timekeeper
    /// A number in 0..<1.
    let random: @Sendable () -> Double
    /// What is known, in parts; each lock guards one.
    let shards: [NIOLockedValueBox<Shard>]
    /// What attempts have shown. Taken inside a shard's lock, never the other way round.
    let ranking: NIOLockedValueBox<EndpointRanking>
    /// Look-ups under way, the upstreams' health and the switch. A shard's lock may be taken inside it, never the other
    /// way round.
    let state: NIOLockedValueBox<State>
    /// Whom addresses belong to. Never held together with another lock.
    let book: NIOLockedValueBox<AddressBook>
    /// Where upstreams are asked for callers that are on no event loop: always the same one, so that connections to them
    /// are there.
    let loop: any EventLoop = MultiThreadedEventLoopGroup.singleton.any()

    /// One part of the cache.
    struct Shard {
        var cache: AnswerCache
        /// What the answers in use were asked under.
        var realm: Realm
        /// One for each upstream, and one for the system, shared by all its answers without failures. Each shard has
        /// its own: were there one for all, threads that look up different names would contend for its reference
        /// count.
        var provenances: [Provenance]
        /// What look-ups found, for ``Resolver/counts``.
        var counts = CacheCounts()
    }

    /// A resolver.
    ///
    /// - Parameters:
    ///   - configuration: Upstreams, policy and bounds.
    ///   - clock: What time is read from, for TTLs, budgets and delays. Tests pass one that they move by hand.
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
        // Few entries are kept in one part, so that the oldest of all is the one to go.
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

    /// The endpoints of a name: from the cache while the TTL lasts, else from the upstreams. Callers that ask for the
    /// same name at the same time share one look-up.
    ///
    /// - Parameters:
    ///   - host: A name, or an address, which is its own answer.
    ///   - port: The port of the endpoints.
    ///   - families: The families wanted; nil: those of the configuration.
    ///   - subnet: For whose network the answer is wanted (RFC 7871); nil: our own. Answers are kept apart by it.
    ///   - fresh: Whether the upstreams are asked although the cache has an answer.
    /// - Throws: ``ResolutionError``. Code `cancelled` comes as soon as the task is cancelled.
    public func resolve(
        _ host: Host,
        port: UInt16 = 443,
        families: Families? = nil,
        subnet: IPNetwork? = nil,
        fresh: Bool = false
    ) async throws(ResolutionError) -> Resolution {
        let wanted = Wanted(host: host, families: families ?? configuration.families, subnet: subnet)
        let now = time.now()
        if let known = try known(wanted, port, fresh: fresh, now) { return known }
        return try resolution(try await join(wanted, isFresh: fresh, now), wanted, port)
    }

    /// What nobody need be asked for. It is no part of ``resolve(_:port:families:subnet:fresh:)``, for what an asynchronous
    /// function needs at any time takes memory all the time.
    @inline(never)
    private func known(
        _ wanted: Wanted,
        _ port: UInt16,
        fresh: Bool,
        _ now: Moment
    ) throws(ResolutionError) -> Resolution? {
        if let known = own(wanted.host, port) { return known }
        if !fresh {
            switch find(wanted, port, now) {
            case .current(let resolution, let isDue):
                if isDue { refresh(wanted) }
                return resolution
            case .absent(let error): throw error
            case .stale(let resolution, let mayAsk):
                // With a TTL that lasts it is one family's answer, and the caller wants both.
                guard mayAsk, resolution.ttl > .zero || resolution.ttl <= .zero - configuration.staleWhileRefresh else {
                    if mayAsk { refreshMissed(wanted) }
                    return resolution
                }
            case .unknown: break
            }
        }
        return loopback(wanted, port)
    }

    /// The endpoints of an origin.
    ///
    /// - Throws: ``ResolutionError``; see ``resolve(_:port:families:subnet:fresh:)``.
    public func resolve(_ origin: Origin) async throws(ResolutionError) -> Resolution {
        try await resolve(origin.host, port: origin.port)
    }

    /// What is known of a name now; never waits. What is missing or out of date is asked for behind the call, and is
    /// there for the next.
    ///
    /// - Returns: Nil where nothing is known that could be dialled. A ``Resolution/Source/stale`` resolution is no
    ///   older than ``ResolverConfiguration/maxStale`` allows.
    public func cached(
        _ host: Host,
        port: UInt16 = 443,
        families: Families? = nil,
        subnet: IPNetwork? = nil
    ) -> Resolution? {
        if let known = own(host, port) { return known }
        let wanted = Wanted(host: host, families: families ?? configuration.families, subnet: subnet)
        switch find(wanted, port, time.now()) {
        case .current(let resolution, let isDue):
            if isDue { refresh(wanted) }
            return resolution
        case .absent: return nil
        case .stale(let resolution, let mayAsk):
            if mayAsk { refreshMissed(wanted) }
            return resolution
        case .unknown:
            if let loopback = loopback(wanted, port) { return loopback }
            refreshMissed(wanted)
            return nil
        }
    }

    // MARK: Forgetting

    /// Forgets what is kept of a name in this network, answers for other subnets excepted.
    public func forget(_ host: Host) {
        let hash = AnswerCache.Key.hash(of: host.text)
        shard(hash).withLockedValue { shard in
            for realm in [Realm.system, shard.realm] {
                shard.cache.remove(AnswerCache.Key(host.text, realm: realm, hash: hash))
            }
        }
    }

    /// Forgets everything that is kept of any name.
    public func forgetAll() {
        for shard in shards { shard.withLockedValue { $0.cache.removeAll() } }
    }

    // MARK: The end

    /// Ends all look-ups, those of callers with the error `shutDown`, and returns when no upstream is being asked any
    /// more. What is kept can still be had by ``cached(_:port:families:subnet:)``.
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

    /// Callers that wait for a look-up.
    package var waitingCallers: Int {
        state.withLockedValue { $0.flights.all.reduce(0) { $0 + $1.callers.count } }
    }
}
