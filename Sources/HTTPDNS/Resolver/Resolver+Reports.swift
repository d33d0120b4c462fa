// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
public import Names

/// The outcome of a connection attempt to an endpoint.
public enum AttemptOutcome: Hashable, Sendable {
    /// The connection was established, after this time.
    case connected(after: Duration)
    /// The attempt failed: refused, unreachable, timed out, or the peer failed verification.
    case failed
}

extension Resolver {
    /// Reports the outcome of an attempt at one of a name's endpoints. An endpoint that failed is tried last for a
    /// while. After all endpoints of the name have failed, the upstreams are asked again.
    public func report(_ outcome: AttemptOutcome, at endpoint: Endpoint, for host: Host) {
        let now = time.now()
        switch outcome {
        case .connected(let time): ranking.withLockedValue { $0.succeeded(endpoint, after: time, now: now) }
        case .failed: ranking.withLockedValue { $0.failed(endpoint, now: now) }
        }
        guard host.address == nil else { return }
        let families = configuration.families
        let hash = AnswerCache.Key.hash(of: host.text)
        let mustRefresh = shard(hash).withLockedValue { shard in
            shard.cache.find(AnswerCache.Key(host.text, realm: shard.realm, hash: hash)) { entry in
                entry.order.until = .past
                guard outcome == .failed, now >= entry.forceAt else { return false }
                let allFailed = ranking.withLockedValue { ranking in
                    ranking.areAllDemoted(
                        v4: families.contains(.v4) ? entry.v4?.addresses ?? [] : [],
                        v6: families.contains(.v6) ? entry.v6?.addresses ?? [] : [],
                        port: endpoint.port,
                        now: now
                    )
                }
                guard allFailed else { return false }
                // Expire the entry, so that the next caller waits for the upstreams; it serves as a fallback if they do
                // not answer.
                let over = now + (.zero - configuration.staleWhileRefresh)
                for family in families.members where configuration.maxStale > .zero {
                    if let kept = entry[family] { entry[family]?.expiresAt = min(kept.expiresAt, over) }
                }
                entry.forceAt = now + configuration.forcedRefreshInterval
                return true
            } ?? false
        }
        if mustRefresh { refresh(LookupRequest(host: host, families: families), isFresh: true) }
    }
}
