// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
public import Names

/// Resolves names to endpoints: asks upstreams, caches their answers, and reports the source of each answer.
///
/// ```swift
/// let resolver = Resolver(ResolverConfiguration(upstreams: [doh, dnspod]))
/// let resolution = try await resolver.resolve(Host("api.example.com"), port: 443)
/// print(resolution.endpoints, resolution.source, resolution.ttl)
/// await resolver.shutDown()
/// ```
///
/// Work that outlives a call, such as a refresh started by ``cached(_:port:families:subnet:)``, belongs to the resolver
/// and ends with ``shutDown()``. Background work (watching the network and the remote switch, keeping names fresh)
/// happens only in ``run()``.
public final class Resolver: Sendable {
    /// The configuration that the resolver was created with.
    public let configuration: ResolverConfiguration

    let time: Timekeeper
    /// See ``ResolverConfiguration/allUpstreams``.
    let upstreams: [any Upstream]
    /// Whether an upstream can be asked for HTTPS records.
    let carriesRecords: Bool
    /// The machine, and the work that it started. Actions are carried out outside this lock.
    let state: NIOLockedValueBox<State>
    /// The event loop for callers without one. It is always the same, so that connections to upstreams are reused.
    let loop: any EventLoop = MultiThreadedEventLoopGroup.singleton.any()

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
        upstreams = configuration.allUpstreams
        carriesRecords =
            configuration.usesHTTPSRecords && configuration.upstreams.contains { $0 is any RecordUpstream }
        time = Timekeeper(clock, wallClock: wallClock ?? SigningClock.deviceTime)
        state = NIOLockedValueBox(State(machine: LookupMachine(configuration, random: random)))
    }

    deinit {
        state.withLockedValue { $0.ticker?.cancel() }
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
        if let known = try known(request, port: port, isFresh: fresh, now: now) { return known }
        let result = try await result(now: now) { .asked(request, by: $0, isFresh: fresh) }
        return try resolution(of: result, for: request, port: port)
    }

    /// Answers that need no upstream. Kept out of ``resolve(_:port:families:subnet:fresh:)`` so that the async frame
    /// stays small.
    @inline(never)
    func known(
        _ request: LookupRequest,
        port: UInt16,
        isFresh: Bool,
        now: Moment,
        countsMisses: Bool = true,
        refreshes: Bool = true
    ) throws(ResolutionError) -> Resolution? {
        if let literal = literal(request.host, port: port) { return literal }
        if !isFresh {
            switch find(request, port: port, now: now, countsMisses: countsMisses) {
            case .current(let resolution, let isDue):
                if isDue, refreshes { handle(.refreshDue(request), now: now) }
                return resolution
            case .absent(let error): throw error
            case .stale(let resolution, let mayAsk):
                // A stale resolution with a remaining TTL has only one family. The caller wants both.
                guard mayAsk, resolution.ttl > .zero || resolution.ttl <= .zero - configuration.cache.staleWhileRefresh
                else {
                    if mayAsk, refreshes { handle(.missed(request), now: now) }
                    return resolution
                }
            case .unknown: break
            }
        }
        return loopback(request, port: port)
    }

    func resolution(
        of result: LookupResult,
        for request: LookupRequest,
        port: UInt16
    ) throws(ResolutionError) -> Resolution {
        let resolution = state.withLockedValue { state in
            Result { () throws(ResolutionError) in try state.machine.resolution(of: result, for: request, port: port) }
        }
        return try resolution.get()
    }

    /// The cached endpoints of a name; never waits. If they are missing or expired, a lookup in the background fetches
    /// them for the next call.
    ///
    /// - Returns: Nil if there is no usable address. A ``Resolution/Source/stale`` resolution is at most
    ///   ``ResolverConfiguration/Cache/maxStale`` past its TTL.
    public func cached(
        _ host: Host,
        port: UInt16 = 443,
        families: Families? = nil,
        subnet: IPNetwork? = nil
    ) -> Resolution? {
        if let literal = literal(host, port: port) { return literal }
        let request = LookupRequest(host: host, families: families ?? configuration.families, subnet: subnet)
        let now = time.now()
        switch find(request, port: port, now: now) {
        case .current(let resolution, let isDue):
            if isDue { handle(.refreshDue(request), now: now) }
            return resolution
        case .absent: return nil
        case .stale(let resolution, let mayAsk):
            if mayAsk { handle(.missed(request), now: now) }
            return resolution
        case .unknown:
            if let loopback = loopback(request, port: port) { return loopback }
            handle(.missed(request), now: now)
            return nil
        }
    }

    /// The result of ``resolve(_:port:families:subnet:fresh:)`` if it needs no upstream: a cached answer, or that the
    /// name is known to have no address. Nil otherwise.
    ///
    /// A miss asks no upstream and is not counted: ``resolve(_:port:families:subnet:fresh:)`` does both.
    ///
    /// - Parameter refreshes: Whether a refresh starts in the background if the TTL is nearly over.
    package func current(
        _ host: Host,
        families: Families,
        subnet: IPNetwork?,
        refreshes: Bool = true
    ) -> Result<Resolution, ResolutionError>? {
        let request = LookupRequest(host: host, families: families, subnet: subnet)
        do throws(ResolutionError) {
            let known = try known(
                request,
                port: 0,
                isFresh: false,
                now: time.now(),
                countsMisses: false,
                refreshes: refreshes
            )
            return known.map { .success($0) }
        } catch {
            return .failure(error)
        }
    }

    /// The cached resolution of a name past its TTL, for a caller that cannot wait for a new one. Nil if there is none.
    package func stale(_ host: Host, families: Families, subnet: IPNetwork?) -> Resolution? {
        let request = LookupRequest(host: host, families: families, subnet: subnet)
        let found = find(request, port: 0, now: time.now(), countsMisses: false)
        guard case .stale(let resolution, _) = found else { return nil }
        return resolution
    }

    /// Whether the cache had no address of the family for a name, past the TTL, but has or had one of the other family.
    package func hadNone(_ host: Host, _ family: IPAddress.Family, subnet: IPNetwork?) -> Bool {
        let request = LookupRequest(host: host, families: Families(family), subnet: subnet)
        return state.withLockedValue { $0.machine.answers.hadNone(request, family, now: time.now()) }
    }

    /// Whether a lookup of a name may start now, or is under way: see ``ResolverConfiguration/Limits/maxLookups``.
    ///
    /// - Parameter leavesReserve: Whether a quarter of the lookups is left to others.
    package func hasRoom(_ host: Host, families: Families, subnet: IPNetwork?, leavesReserve: Bool) -> Bool {
        let request = LookupRequest(host: host, families: families, subnet: subnet)
        return state.withLockedValue { $0.machine.hasRoom(for: request, leavesReserve: leavesReserve) }
    }

    /// Looks up a name in the cache.
    func find(
        _ request: LookupRequest,
        port: UInt16,
        now: Moment,
        countsMisses: Bool = true
    ) -> CachedAnswers.Found {
        state.withLockedValue { state in
            state.machine.answers.find(
                request,
                port: port,
                now: now,
                ranking: state.machine.ranking,
                countsMisses: countsMisses
            )
        }
    }

    /// The resolution of a host that is an address; nil for names. In a network without IPv4, an IPv4 address is
    /// translated by NAT64.
    private func literal(_ host: Host, port: UInt16) -> Resolution? {
        guard let address = host.address else { return nil }
        let addresses = address.family == .v4 ? network.reachable(address) : [address]
        return Resolution(literal: host, addresses: addresses, port: port)
    }

    /// The resolution of `localhost`, which needs no upstream (RFC 6761 §6.3); nil for other names.
    private func loopback(_ request: LookupRequest, port: UInt16) -> Resolution? {
        guard request.host.isLocalhost else { return nil }
        let addresses = request.families.members.map { $0 == .v6 ? IPAddress(v6: 0, 1) : IPAddress(v4: 0x7f00_0001) }
        return Resolution(literal: request.host, addresses: addresses, port: port)
    }
}
