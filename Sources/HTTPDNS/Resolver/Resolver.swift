// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
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
/// All work that outlives a call, such as a refresh behind ``cached(_:port:families:)``, belongs to the resolver and
/// ends with ``shutdown()``.
public final class Resolver: Sendable {
    /// What the resolver was made with.
    public let configuration: ResolverConfiguration

    let time: Timekeeper
    /// What is known, in parts; each lock guards one.
    let shards: [NIOLockedValueBox<Shard>]
    /// What attempts have shown. Taken inside a shard's lock, never the other way round.
    let ranking: NIOLockedValueBox<EndpointRanking>
    /// Look-ups under way, the upstreams' health and the switch. Never held together with another lock.
    let state: NIOLockedValueBox<State>
    /// Whom addresses belong to. Never held together with another lock.
    let book: NIOLockedValueBox<AddressBook>
    /// One for each upstream, and one for the system, shared by all its answers without failures.
    let provenances: [Provenance]

    /// One part of the cache.
    struct Shard {
        var cache: AnswerCache
        /// What the answers in use were asked under.
        var realm: UInt32
        /// Copies of ``Resolver/provenances``: were there one for all shards, threads that look up different names would
        /// contend for its reference count.
        let provenances: [Provenance]
    }

    /// Manners of asking, whose answers do not mix.
    enum Realm {
        static let system: UInt32 = 0
        static let upstreams: UInt32 = 1

        /// What is asked of one upstream to see whether it is back; nothing is kept of it.
        static func probe(_ upstream: Int) -> UInt32 { .max - UInt32(truncatingIfNeeded: upstream & 0xffff) }
        static func isProbe(_ realm: UInt32) -> Bool { realm > .max - 0x1_0000 }
    }

    /// A resolver.
    ///
    /// - Parameters:
    ///   - configuration: Upstreams, policy and bounds.
    ///   - clock: What time is read from, for TTLs, budgets and delays. Tests pass one that they move by hand.
    public init(_ configuration: ResolverConfiguration, clock: any Clock<Duration> = ContinuousClock()) {
        self.configuration = configuration
        time = Timekeeper(clock)
        // Few entries are kept in one part, so that the oldest of all is the one to go.
        var count = 1
        while count < 64, configuration.maxCachedNames / (count * 2) >= 256 { count *= 2 }
        let provenances = configuration.provenances
        self.provenances = provenances
        shards = (0..<count).map { _ in
            let cache = AnswerCache(
                maxEntries: configuration.maxCachedNames / count,
                maxOctets: configuration.maxCachedOctets / count
            )
            return NIOLockedValueBox(
                Shard(cache: cache, realm: Realm.upstreams, provenances: configuration.provenances)
            )
        }
        ranking = NIOLockedValueBox(EndpointRanking(limits: configuration.rankingLimits))
        state = NIOLockedValueBox(State(configuration))
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
    ///   - fresh: Whether the upstreams are asked although the cache has an answer.
    /// - Throws: ``ResolutionError``. Code `cancelled` comes as soon as the task is cancelled.
    public func resolve(
        _ host: Host,
        port: UInt16 = 443,
        families: Families? = nil,
        fresh: Bool = false
    ) async throws(ResolutionError) -> Resolution {
        if let known = own(host, port) { return known }
        let families = families ?? configuration.families
        if !fresh {
            switch find(host, port, families) {
            case .current(let resolution, let isDue):
                if isDue { refresh(host, families) }
                return resolution
            case .absent(let error): throw error
            case .stale(let resolution, let mayAsk):
                if !mayAsk { return resolution }
            case .unknown: break
            }
        }
        if let loopback = loopback(host, port, families) { return loopback }
        let landing = try await join(host, families)
        return try resolution(landing, host, port, families)
    }

    /// The endpoints of an origin.
    ///
    /// - Throws: ``ResolutionError``; see ``resolve(_:port:families:fresh:)``.
    public func resolve(_ origin: Origin) async throws(ResolutionError) -> Resolution {
        try await resolve(origin.host, port: origin.port)
    }

    /// What is known of a name now; never waits. What is missing or out of date is asked for behind the call, and is
    /// there for the next.
    ///
    /// - Returns: Nil where nothing is known that could be dialled. A ``Resolution/Source/stale`` resolution is no
    ///   older than ``ResolverConfiguration/maxStale`` allows.
    public func cached(_ host: Host, port: UInt16 = 443, families: Families? = nil) -> Resolution? {
        if let known = own(host, port) { return known }
        let families = families ?? configuration.families
        switch find(host, port, families) {
        case .current(let resolution, let isDue):
            if isDue { refresh(host, families) }
            return resolution
        case .absent: return nil
        case .stale(let resolution, let mayAsk):
            if mayAsk { refresh(host, families) }
            return resolution
        case .unknown:
            if let loopback = loopback(host, port, families) { return loopback }
            refresh(host, families)
            return nil
        }
    }

    /// Asks for names that will be needed, ``ResolverConfiguration/prefetchWidth`` at a time, and returns when all
    /// have been answered or have failed. Names that are known already are not asked for.
    public func prefetch(_ hosts: [Host]) async {
        await withTaskGroup(of: Void.self) { group in
            for (index, host) in hosts.enumerated() {
                if index >= max(1, configuration.prefetchWidth) { await group.next() }
                group.addTask { _ = try? await self.resolve(host) }
            }
        }
    }

    // MARK: Control

    /// The switch. While it is off every name goes to the system's resolver, as if this library were not there;
    /// answers that were kept before are not used, and come back with the switch.
    public var isEnabled: Bool {
        get { state.withLockedValue { $0.isEnabled } }
        set {
            state.withLockedValue { $0.isEnabled = newValue }
            for shard in shards {
                shard.withLockedValue { $0.realm = newValue ? Realm.upstreams : Realm.system }
            }
        }
    }

    /// Forgets everything that is kept of a name.
    public func forget(_ host: Host) {
        let hash = AnswerCache.Key.hash(of: host.text)
        shard(hash).withLockedValue { shard in
            for realm in [Realm.system, Realm.upstreams] {
                shard.cache.remove(AnswerCache.Key(host.text, realm: realm, hash: hash))
            }
        }
    }

    /// Forgets everything that is kept of any name.
    public func forgetAll() {
        for shard in shards { shard.withLockedValue { $0.cache.removeAll() } }
    }

    /// Ends all look-ups, those of callers with the error `shutDown`, and returns when no upstream is being asked any
    /// more. What is kept can still be had by ``cached(_:port:families:)``.
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
        state.withLockedValue { $0.flights.all.reduce(0) { $0 + $1.allWaiters.count } }
    }

    /// Questions that were sent to upstreams so far.
    public var questionsSent: Int { state.withLockedValue { $0.questionsSent } }

    /// Names that are kept now.
    public var cachedNames: Int { shards.reduce(0) { $0 + $1.withLockedValue { $0.cache.count } } }
}
