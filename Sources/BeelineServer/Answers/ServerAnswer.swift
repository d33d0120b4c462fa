// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// The answer to a question for one record type, independent of its form.
struct ServerAnswer: Sendable {
    var code = DNSResponseCode.noError
    /// Aliases first, then the records of the requested type.
    var answers: [DNSRecord] = []
    /// The SOA of a negative answer (RFC 2308 §2).
    var authorities: [DNSRecord] = []
    /// Whether the answer comes from a zone of this server.
    var isAuthoritative = false
    /// The source of the answer: `zone`, or a word from the resolver.
    var source = "zone"

    init() {}

    /// An answer that has only a response code.
    init(_ code: DNSResponseCode, source: String = "-") {
        self.code = code
        self.source = source
    }

    /// The TTL of a negative answer without a SOA record, in seconds.
    static let negativeTTL: UInt32 = 5

    /// Whether no source could answer (SERVFAIL and similar codes).
    var isFailure: Bool { code != .noError && code != .noSuchName }

    /// The addresses of the answer, without the aliases.
    var addresses: [IPAddress] {
        answers.compactMap { record in
            if case .address(let address) = record.data { address } else { nil }
        }
    }

    /// How long the whole answer may be cached, in seconds (RFC 2308 §5, RFC 8484 §5.1).
    var ttl: UInt32 {
        guard !isFailure else { return 0 }
        let least = answers.map(\.ttl).min()
        guard answers.last.map({ $0.type == .cname }) ?? true else { return least ?? 0 }
        // The requested records are missing, so the negative TTL applies too.
        var negative = Self.negativeTTL
        if let record = authorities.first, case .authority(let soa) = record.data {
            negative = min(record.ttl, soa.minimum)
        }
        return min(least ?? negative, negative)
    }
}
