// SPDX-License-Identifier: Apache-2.0

package import Names

/// An upstream that carries DNS messages, so that it answers questions for records of any type.
///
/// The requirements of ``Upstream`` apply to ``response(to:)`` too.
package protocol MessageUpstream: RecordUpstream {
    /// Asks a question and returns the response with any response code, after the checks of
    /// ``MessageQuery/checked(_:)``. The TTLs are the remaining ones.
    ///
    /// - Throws: ``UpstreamError``.
    func response(to query: MessageQuery) async throws(UpstreamError) -> DNSMessage
}

/// A question for a ``MessageUpstream``.
package struct MessageQuery: Sendable {
    /// The question, of the Internet class.
    package var question: DNSQuestion
    /// DO: whether the response should have DNSSEC records (RFC 3225).
    package var wantsSignatures = false
    /// CD: whether the upstream should answer without validation (RFC 4035 §3.2.2).
    package var isUnchecked = false
    /// AD: whether the client wants to know if the upstream has validated (RFC 6840 §5.7).
    package var wantsVerdict = false
    /// The network to resolve for (RFC 7871); nil: the client's own.
    package var subnet: IPNetwork?

    /// A query for a question.
    package init(_ question: DNSQuestion) { self.question = question }

    /// AD and CD, as in ``DNSMessage/Flags/reserved``.
    var checks: UInt8 { (wantsVerdict ? 2 : 0) | (isUnchecked ? 1 : 0) }

    func edns(paddingBlock: Int? = nil) -> EDNS {
        EDNS(paddingBlock: paddingBlock, subnet: subnet, wantsSignatures: wantsSignatures)
    }

    /// The message, if it is a complete response to this question: these are the checks of a stub resolver. The caller
    /// has already compared the ID.
    ///
    /// - Throws: ``UpstreamError`` with code `wrongAnswer` or `truncatedAnswer`.
    package func checked(_ message: DNSMessage) throws(UpstreamError) -> DNSMessage {
        guard message.flags.isResponse, message.flags.opcode == 0 else {
            throw UpstreamError(.wrongAnswer, "the message is not a response to this query")
        }
        // Old servers omit the question in an error.
        guard message.questions == [question] || message.questions.isEmpty else {
            throw UpstreamError(.wrongAnswer, "the response is for another question")
        }
        guard !message.flags.isTruncated else {
            throw UpstreamError(.truncatedAnswer, "the response is truncated (TC)")
        }
        return message
    }
}

extension MessageUpstream {
    package func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        var answer = Answer()
        for family in question.families.members {
            var query = MessageQuery(DNSQuestion(try question.host.dnsName(), DNSType(family)))
            query.subnet = question.subnet
            let message = try await response(to: query)
            answer[family] = try message.records(answering: query.question)
        }
        return answer
    }

    package func services(_ question: ServiceQuestion) async throws(UpstreamError) -> ServiceReply {
        var query = MessageQuery(DNSQuestion(question.name, .https))
        query.subnet = question.subnet
        let message = try await response(to: query)
        return try message.services(answering: query.question)
    }
}

extension DNSMessage {
    /// Parses a message from an upstream.
    init(reply octets: [UInt8]) throws(UpstreamError) {
        do {
            try self.init(octets: octets)
        } catch {
            throw UpstreamError(.malformedAnswer, "the DNS message is broken: \(error)")
        }
    }

    /// Subtracts seconds from the TTLs of all records, down to 0.
    package mutating func age(by seconds: UInt32) {
        guard seconds > 0 else { return }
        // The MINIMUM of an SOA bounds the TTL of a negative answer, and does not age itself (RFC 2308 §5).
        for index in authorities.indices {
            guard case .authority(let soa) = authorities[index].data else { continue }
            authorities[index].ttl = min(authorities[index].ttl, soa.minimum)
        }
        answers.age(by: seconds)
        authorities.age(by: seconds)
        additionals.age(by: seconds)
    }
}

extension [DNSRecord] {
    /// Subtracts seconds from the TTLs, down to 0. OPT has no TTL and is left unchanged.
    package mutating func age(by seconds: UInt32) {
        for index in indices where self[index].type != .opt { self[index].ttl -= Swift.min(self[index].ttl, seconds) }
    }
}
