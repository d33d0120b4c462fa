// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import NIOCore
import Names

extension DNSService {
    /// Identifies queries whose replies differ only in ID, flags, letter case and EDNS.
    struct Key: Hashable, Sendable {
        /// The question in lower case, followed by DO, CD and the client's rights.
        let octets: [UInt8]
        /// The hash of ``octets``, computed once, because each new name of a flood is looked up in four tables.
        private let hash: Int

        init(_ query: QueryHead, asksSystem: Bool) {
            var octets = Array(query.octets[12...])
            for index in octets.indices.dropLast(4) where (0x41...0x5a).contains(octets[index]) {
                octets[index] |= 0x20
            }
            octets.append(
                (query.options.wantsSignatures ? 1 : 0) | (query.isUnchecked ? 2 : 0) | (asksSystem ? 4 : 0)
            )
            self.octets = octets
            hash = octets.hashValue
        }

        func hash(into hasher: inout Hasher) { hasher.combine(hash) }
    }

    /// An encoded reply for several clients.
    struct Memo {
        var body: ReplyBody
        var outcome: DNSResponseCode
        var expiresAt: NIODeadline
    }

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
