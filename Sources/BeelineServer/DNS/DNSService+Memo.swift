// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import NIOCore

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
}
