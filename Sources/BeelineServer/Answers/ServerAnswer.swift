// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// What is answered to a question for one record type, whatever the form it is written in.
struct ServerAnswer: Sendable {
    var code = DNSResponseCode.noError
    /// Aliases on the way first, then what was asked for.
    var answers: [DNSRecord] = []
    /// The SOA of a negative answer (RFC 2308 §2).
    var authorities: [DNSRecord] = []
    /// Whether it is from a zone of this server.
    var isAuthoritative = false
    /// Where it is from: `zone`, or the resolver's word for it.
    var source = "zone"

    init() {}

    /// Nothing but a code.
    init(_ code: DNSResponseCode, source: String = "-") {
        self.code = code
        self.source = source
    }

    /// How long a negative answer is kept that nobody vouches for, in seconds.
    static let negativeTTL: UInt32 = 5

    /// Whether nobody could say whether there is something.
    var isFailure: Bool { code != .noError && code != .noSuchName }

    /// The addresses, aliases left out.
    var addresses: [IPAddress] {
        answers.compactMap { record in
            if case .address(let address) = record.data { address } else { nil }
        }
    }

    /// For how long all of it may be kept, in seconds (RFC 2308 §5, RFC 8484 §5.1).
    var ttl: UInt32 {
        guard !isFailure else { return 0 }
        let least = answers.map(\.ttl).min()
        guard answers.last.map({ $0.type == .cname }) ?? true else { return least ?? 0 }
        // Without the records that were asked for, it holds as long as their absence does.
        var negative = Self.negativeTTL
        if let record = authorities.first, case .authority(let soa) = record.data {
            negative = min(record.ttl, soa.minimum)
        }
        return min(least ?? negative, negative)
    }
}
