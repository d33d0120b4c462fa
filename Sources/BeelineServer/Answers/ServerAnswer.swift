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
    /// The additional section without OPT, such as the addresses of the answer's targets.
    var additionals: [DNSRecord] = []
    /// Whether the upstream reports that it has validated the answer (AD).
    var isVerified = false
    /// Why the answer is an error or stale.
    var errors: [ExtendedError] = []
    /// Why upstreams gave no answer, if none gave one. Clients do not get these, and a cached answer has none.
    var failures: [ResolutionError.Failure] = []
    /// The type of the question, if it is known.
    var answeredType: DNSType?
    /// Whether the answer comes from a zone of this server.
    var isAuthoritative = false
    /// Whether only clients with rights get the answer, so that no HTTP cache may keep it (RFC 9111 §3).
    var isPrivate = false
    /// The source of the answer: `zone`, or a word from the resolver.
    var source = "zone"

    init() {}

    /// An answer that has only a response code.
    init(_ code: DNSResponseCode, source: String = "-", errors: [ExtendedError] = []) {
        self.code = code
        self.source = source
        self.errors = errors
    }

    /// The answer to a query without RD for a name that is not known here.
    static let notAuthoritative = ServerAnswer(.refused, errors: [.notAuthoritative])

    /// An answer without records, with an SOA that says how long it may be cached (RFC 2308 §5). The zone is the name
    /// itself, with the fields of RFC 6303 §3.
    ///
    /// - Parameter ttl: The time in seconds. Nil for an absence that no zone confirms: such an answer has no SOA.
    init(
        absenceOf name: DNSName,
        _ code: DNSResponseCode = .noError,
        ttl: UInt32?,
        source: String = "-",
        errors: [ExtendedError] = []
    ) {
        self.init(code, source: source, errors: errors)
        guard let ttl else { return }
        let soa = DNSRecord.StartOfAuthority(
            primary: name,
            mailbox: Self.mailbox,
            serial: 1,
            refresh: 3_600,
            retry: 1_200,
            expire: 604_800,
            minimum: ttl
        )
        authorities = [DNSRecord(name, ttl: ttl, .authority(soa))]
    }

    /// The mailbox in an SOA that is made here: `nobody.invalid`.
    private static let mailbox = DNSName(wire: [6] + Array("nobody".utf8) + [7] + Array("invalid".utf8) + [0])

    /// The answer of an upstream's response.
    init(_ message: DNSMessage) {
        code = message.flags.responseCode
        answers = message.answers
        authorities = message.authorities
        additionals = message.additionals.filter { $0.type != .opt }
        isVerified = message.flags.reserved & 2 != 0
        errors = ExtendedError.errors(in: message)
        // The code's high bits are in OPT (RFC 6891 §6.1.3).
        if let high = message.additionals.first(where: { $0.type == .opt }).map({ $0.ttl >> 24 }), high > 0, high < 16 {
            code = DNSResponseCode(rawValue: UInt8(high) << 4 | code.rawValue)
        }
        answeredType = message.questions.first?.type
        source = "fresh"
    }

    /// Subtracts seconds from the TTLs of all records.
    mutating func age(by seconds: UInt32) {
        guard seconds > 0 else { return }
        answers.age(by: seconds)
        authorities.age(by: seconds)
        additionals.age(by: seconds)
    }

    /// Lowers all TTLs to a bound.
    mutating func limitTTL(to seconds: UInt32) {
        for index in answers.indices { answers[index].ttl = min(answers[index].ttl, seconds) }
        for index in authorities.indices { authorities[index].ttl = min(authorities[index].ttl, seconds) }
        for index in additionals.indices { additionals[index].ttl = min(additionals[index].ttl, seconds) }
    }

    /// The approximate size in memory, in octets.
    var cost: Int {
        [answers, authorities, additionals].joined().reduce(256) { sum, record in
            if case .other(_, let octets) = record.data { return sum + 160 + octets.count }
            return sum + 160 + record.name.wire.count
        }
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
        let least = answers.lazy.map(\.ttl).min()
        guard isNegative else { return least ?? 0 }
        // The requested records are missing, so the negative TTL applies too.
        let negative = ttlOfAbsence ?? Self.negativeTTL
        return min(least ?? negative, negative)
    }

    /// How long the SOA lets the absence of records be cached, in seconds; nil without an SOA.
    var ttlOfAbsence: UInt32? {
        for record in authorities {
            if case .authority(let soa) = record.data { return min(record.ttl, soa.minimum) }
        }
        return nil
    }

    /// Whether the answer lacks the requested records. It then has at most aliases and their signatures.
    var isNegative: Bool { answers.allSatisfy { $0.type != answeredType && Self.aliases.contains($0.type) } }
    private static let aliases = [DNSType.cname, .subtreeAlias, .signature]
}

extension [DNSRecord] {
    /// Gives the records of a name and type the least of their TTLs, which must not differ (RFC 2181 §5.2). Signatures
    /// keep theirs, because they have the TTLs of several types.
    mutating func equalizeTTLs() {
        var ttls: [DNSQuestion: UInt32] = [:]
        for record in self {
            let key = DNSQuestion(record.name, record.type)
            ttls[key] = Swift.min(record.ttl, ttls[key] ?? .max)
        }
        for index in indices where self[index].type != .signature {
            self[index].ttl = ttls[DNSQuestion(self[index].name, self[index].type)] ?? self[index].ttl
        }
    }
}
