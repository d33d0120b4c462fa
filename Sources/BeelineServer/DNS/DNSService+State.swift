// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import NIOCore
import Names

extension DNSService {
    /// A lookup by this machine's resolver.
    struct SystemLookup {
        let client: IPAddress
        let id: [UInt8]
        /// Questions that wait until the resolver has answered. If it asks this server, its question is among them.
        var joined: [AsyncStream<Void>.Continuation] = []
    }

    /// The mutable state of the server.
    struct State {
        var replies = GenerationCache<Key, Memo>(maxCount: 16_384, maxCost: 16 << 20) { $0.body.size + 128 }
        /// The questions that clients may ask over UDP.
        var limiter: RateLimiter?
        /// The questions that clients may ask over TCP and TLS. Separate, because their sources are not forged: a UDP
        /// flood with a client's address must not limit that client here.
        var streamLimiter: RateLimiter?
        var counters = DNSCounters()
        var waiting = 0
        /// The names that this machine's resolver is being asked for. Bounded by `waiting`.
        var askingSystem: [DNSQuestion: SystemLookup] = [:]
        /// The number of waiting questions of each limited client, as a part of `waiting`.
        var waitingOf = Tally<Subscriber>()
        /// The number of changes of the names and upstreams.
        var generation = 0
        /// Whether the next question above the limit gets a truncated reply.
        var answersLimited = false
        /// The refusals over UDP that a client may get now.
        var refusals = RateLimiter(perSecond: maxRefusals, burst: Int(maxRefusals), maxClients: 4_096)
    }
}
