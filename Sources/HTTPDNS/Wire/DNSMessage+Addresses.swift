// SPDX-License-Identifier: Apache-2.0

import Names

extension DNSMessage {
    /// The maximum number of CNAMEs in a chain. Real chains are shorter.
    package static let maxAliases = 16

    /// Whether a server without EDNS support has rejected the query (RFC 6891 §7).
    var isRefusalOfEDNS: Bool {
        (flags.responseCode == .formatError || flags.responseCode == .notImplemented)
            && !additionals.contains { $0.type == .opt }
    }

    /// The records of this response for the question, after the checks of a stub resolver. The message must be a
    /// complete response to the question; the caller has compared its ID, if it has one. The records must belong to the name
    /// or to its chain of CNAMEs.
    ///
    /// - Throws: ``UpstreamError`` with code `wrongAnswer`, `malformedAnswer`, `truncatedAnswer`, `lookupFailed` or
    ///   `questionRefused`.
    func records(answering question: DNSQuestion) throws(UpstreamError) -> Answer.Records {
        try check(answering: question)
        let found = try follow(question)
        // As in the system's resolvers, the addresses of a name that does not exist are not used.
        if !found.addresses.isEmpty, flags.responseCode != .noSuchName {
            return .addresses(found.addresses, ttl: .seconds(found.ttl))
        }
        let absence = flags.responseCode == .noSuchName ? Answer.Absence.noName : .noRecord
        return .absent(absence, ttl: negativeTTL(for: found.last).map { .seconds(min($0, found.ttl)) })
    }

    /// The SVCB or HTTPS records of this response for the question, after the checks of
    /// ``records(answering:)``.
    ///
    /// If one record is malformed, all are treated as absent (RFC 9460 §2.2). A client that used the others would not
    /// connect as the owner of the zone intended.
    func services(answering question: DNSQuestion) throws(UpstreamError) -> ServiceReply {
        try check(answering: question)
        let found = try follow(question)
        var records: [HTTPSRecord] = []
        for case .other(question.type, let octets) in found.records.map(\.data) {
            guard let record = HTTPSRecord(octets: octets) else {
                return ServiceReply(owner: found.last, ttl: .seconds(found.ttl))
            }
            records.append(record)
        }
        if !records.isEmpty { return ServiceReply(records, owner: found.last, ttl: .seconds(found.ttl)) }
        return ServiceReply(
            owner: found.last,
            ttl: negativeTTL(for: found.last).map { .seconds(min($0, found.ttl)) }
        )
    }

    /// Checks that the message is a complete response to the question.
    private func check(answering question: DNSQuestion) throws(UpstreamError) {
        guard flags.isResponse, flags.opcode == 0 else {
            throw UpstreamError(.wrongAnswer, "the message is not a response to this query")
        }
        switch flags.responseCode {
        case .noError, .noSuchName: break
        case .serverFailure:
            throw UpstreamError(
                .lookupFailed,
                "the upstream cannot resolve the name (SERVFAIL): its servers do not answer, or its signatures or aliases are wrong"
            )
        case .notImplemented, .formatError, .refused:
            throw UpstreamError(.questionRefused, "the upstream refuses the question (\(flags.responseCode))")
        default: throw UpstreamError(.lookupFailed, "the upstream failed (\(flags.responseCode))")
        }
        guard questions.count == 1, questions[0] == question else {
            throw UpstreamError(.wrongAnswer, "the response is for another question")
        }
        guard !flags.isTruncated else { throw UpstreamError(.truncatedAnswer, "the response is truncated (TC)") }
    }

    /// Follows the CNAMEs from the name of the question. Returns the records of its type at the end, their addresses,
    /// and the lowest TTL of the chain.
    private func follow(
        _ question: DNSQuestion
    ) throws(UpstreamError) -> (records: [DNSRecord], addresses: [IPAddress], ttl: UInt32, last: DNSName) {
        var name = question.name
        var ttl = UInt32.max
        for _ in 0...Self.maxAliases {
            var records: [DNSRecord] = []
            var addresses: [IPAddress] = []
            var alias: DNSName?
            for record in answers where record.recordClass == question.recordClass && record.name == name {
                switch record.data {
                case .address(let address) where record.type == question.type:
                    records.append(record)
                    addresses.append(address)
                    ttl = min(ttl, record.ttl)
                case .other(question.type, _):
                    records.append(record)
                    ttl = min(ttl, record.ttl)
                case .alias(let target) where alias == nil:
                    alias = target
                    ttl = min(ttl, record.ttl)
                default: break
                }
            }
            guard records.isEmpty, let alias else { return (records, addresses, ttl, name) }
            name = alias
        }
        throw UpstreamError(.malformedAnswer, "the chain of aliases of \(question.name) is too long")
    }

    /// The TTL of a negative answer: the lower of the SOA's TTL and its MINIMUM (RFC 2308 §5). Nil without the SOA of a
    /// zone that contains the name.
    private func negativeTTL(for name: DNSName) -> UInt32? {
        for record in authorities {
            if case .authority(let soa) = record.data, name.isAtOrBelow(record.name) {
                return min(record.ttl, DNSRecord.seconds(soa.minimum))
            }
        }
        return nil
    }
}
