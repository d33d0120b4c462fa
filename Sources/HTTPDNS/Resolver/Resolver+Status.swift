// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
public import Names

/// Reports to the resolver, its switch, and its state.
extension Resolver {
    // MARK: Reporting and forgetting

    /// Reports the outcome of an attempt at one of a name's endpoints. An endpoint that failed is tried last for a
    /// while. After all endpoints of the name have failed, the upstreams are asked again.
    public func report(_ outcome: AttemptOutcome, at endpoint: Endpoint, for host: Host) {
        handle(.attemptEnded(outcome, at: endpoint, of: host), now: time.now())
    }

    /// Removes a name from the cache, for the current network and the system. Answers for subnets are kept.
    public func forget(_ host: Host) { handle(.forgotten(host), now: time.now()) }

    /// Removes all names from the cache.
    public func forgetAll() { handle(.forgotten(nil), now: time.now()) }

    // MARK: The switch and the state

    /// Whether the resolver asks its upstreams. Default true. If false, all names go to the system's resolver; cached
    /// answers are kept for the time when it is true again. A remote switch that is off has the same effect but does
    /// not change this value.
    public var isEnabled: Bool {
        get { state.withLockedValue { $0.machine.isEnabled } }
        set { handle(.switched(on: newValue), now: time.now()) }
    }

    /// Whether names go to the upstreams now: both switches are on.
    package var isActive: Bool { state.withLockedValue { $0.machine.isOn } }

    /// Whether names that are in no table and not in the cache can be looked up: at least one upstream is neither down
    /// nor paused. An upstream that was never asked counts as working.
    package var canAsk: Bool { state.withLockedValue { $0.machine.canAsk(now: time.now()) } }

    /// If ``canAsk`` is false, asks an upstream for a name of the root servers in the background, so that a resolver
    /// without other questions notices an upstream that works again. The health of the upstreams bounds how often one
    /// is asked.
    package func probe() { handle(.probeDue, now: time.now()) }

    /// The network that the resolver assumes.
    public var network: Network { state.withLockedValue { $0.machine.ranking.network } }

    /// The number of questions sent to upstreams so far.
    package var questionsSent: Int { state.withLockedValue { $0.questionsSent } }

    /// The name and the response times of each upstream, and last those of the system if it is used.
    package var upstreamTimes: [(name: String, times: UpstreamTimes)] {
        let times = state.withLockedValue { $0.machine.times }
        let names = configuration.upstreams.map(\.name) + [configuration.system?.name].compactMap(\.self)
        return zip(names, times).map { (name: $0, times: $1) }
    }

    /// The number of names in the cache.
    package var cachedNames: Int { state.withLockedValue { $0.machine.answers.cache.count } }

    /// The results of cache lookups so far.
    package var counts: CacheCounts { state.withLockedValue { $0.machine.answers.counts } }

    /// The number of callers that wait for a lookup.
    package var waitingCallers: Int { state.withLockedValue { $0.machine.lookups.callerCount } }

    /// The hosts that resolved to an address since the resolver was created, in order; at most eight. Empty if the
    /// address never occurred, or came after 4,096 others.
    ///
    /// If there is one host, all questions that returned this address were for that host. Other resolvers and earlier
    /// processes may have received the address for other names.
    public func hosts(of address: IPAddress) -> [Host] {
        state.withLockedValue { $0.machine.answers.book.hosts(of: address) }
    }

    /// Whether a name is never sent to the upstreams, so that only tables and the system are asked for it. Ignores the
    /// switches and the canary, which apply to all names alike.
    package func isKeptFromUpstreams(_ host: Host) -> Bool {
        state.withLockedValue { $0.machine.policy.isKept(host) }
    }
}
