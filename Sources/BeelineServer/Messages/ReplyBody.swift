// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// An encoded answer for several clients. Each reply gets the ID, the flags, the letter case and the EDNS of its query.
struct ReplyBody: Sendable {
    /// The message without OPT.
    private let octets: [UInt8]
    private let code: DNSResponseCode
    private let errors: [ExtendedError]

    var size: Int { octets.count }

    /// Nil if the answer is too large for a message.
    init?(_ answer: ServerAnswer, question: DNSQuestion?) {
        var message = DNSMessage(questions: question.map { [$0] } ?? [])
        message.flags.isResponse = true
        message.flags.recursionDesired = false
        message.flags.recursionAvailable = true
        message.flags.isAuthoritative = answer.isAuthoritative
        message.flags.reserved = answer.isVerified ? 2 : 0
        message.flags.responseCode = answer.code
        message.answers = answer.answers
        message.authorities = answer.authorities
        message.additionals = answer.additionals
        guard let octets = message.encoded() else { return nil }
        self.octets = octets
        code = answer.code
        errors = answer.errors
    }

    /// A reply without records, which needs no encoding. A server that is flooded sends many of them.
    init(failure code: DNSResponseCode, errors: [ExtendedError] = [], to query: QueryHead) {
        let count: UInt8 = query.hasQuestion ? 1 : 0
        octets = [0, 0, 0x80, 0x80 | code.rawValue & 0xf, 0, count, 0, 0, 0, 0, 0, 0] + query.octets[12...]
        self.code = code
        self.errors = errors
    }

    /// How a reply is sent.
    struct Form: Sendable {
        /// The maximum size of a reply in octets.
        var maxSize: Int
        /// The largest UDP query that the server accepts, in octets.
        var payload: UInt16 = 1_232
        /// Replies to padded queries are padded to a multiple of this (RFC 8467 §4.1); nil without encryption.
        var paddingBlock: Int?
        /// Whether upstreams receive the subnets of queries.
        var usesSubnets = false
    }

    /// The reply to a query. If it would be larger than allowed, it has no records and TC is set (RFC 2181 §9).
    func reply(to query: QueryHead, _ form: Form) -> [UInt8] {
        let whole = reply(to: query, form, octets: octets)
        guard whole.count > form.maxSize else { return whole }
        var short = Array(octets.prefix(query.octets.count))
        short.replaceSubrange(6..<12, with: [0, 0, 0, 0, 0, 0])
        short[2] |= 2
        return reply(to: query, form, octets: short)
    }

    private func reply(to query: QueryHead, _ form: Form, octets: [UInt8]) -> [UInt8] {
        var octets = octets
        octets.reserveCapacity(octets.count + 64)
        // A name has the same length in another letter case. Compressed names that point to it change with it.
        octets.replaceSubrange(12..<query.octets.count, with: query.octets[12...])
        octets[0] = query.octets[0]
        octets[1] = query.octets[1]
        octets[2] |= query.octets[2] & 0x79
        octets[3] |= query.octets[3] & 0x10
        // AD is only for clients that understand it (RFC 6840 §5.8).
        if !query.wantsVerdict, !query.options.wantsSignatures { octets[3] &= ~0x20 }
        guard query.options.isPresent else {
            // Only OPT has the high bits of the code. Its low bits alone are another code.
            if code.rawValue > 15 { octets[3] = octets[3] & 0xf0 | DNSResponseCode.serverFailure.rawValue }
            return octets
        }
        // With the high bits of the code (RFC 6891 §6.1.3).
        var edns = EDNS(maxPayload: form.payload)
        edns.highCode = code.rawValue >> 4
        edns.wantsSignatures = query.options.wantsSignatures
        edns.subnet = query.options.subnet
        if form.usesSubnets, let subnet = edns.subnet { edns.scope = UInt8(subnet.prefixLength) }
        edns.options = errors.map(\.option)
        if query.options.isPadded { edns.paddingBlock = form.paddingBlock }
        edns.maxSize = form.maxSize
        edns.append(to: &octets)
        let count = (Int(octets[10]) << 8 | Int(octets[11])) + 1
        octets[10] = UInt8(count >> 8 & 0xff)
        octets[11] = UInt8(count & 0xff)
        return octets
    }

    /// A reply that has only a header, for a message whose question cannot be read.
    ///
    /// - Parameter start: The first three octets of the message.
    static func header(_ start: [UInt8], _ code: DNSResponseCode) -> [UInt8] {
        [start[0], start[1], 0x80 | start[2] & 0x79, 0x80 | code.rawValue & 0xf, 0, 0, 0, 0, 0, 0, 0, 0]
    }
}
