// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
package import Names

/// DNS over HTTPS (RFC 8484).
package struct DoHUpstream: ServiceUpstream {
    /// The HTTP method for queries.
    package enum Method: Hashable, Sendable {
        /// The query is in the URL; HTTP caches may answer.
        case get
        /// The query is in the body.
        case post
    }

    /// One object for all copies, because every question makes some.
    private final class Parts: Sendable {
        let name: String
        /// Path and query of the URL; for GET, everything before the message.
        let target: String
        let method: Method
        let fields: HTTPFields
        let isPadded: Bool
        let service: UpstreamService

        init(url: HTTPURL, method: Method, isPadded: Bool, service: UpstreamService) {
            name = "doh:\(url.origin.authority)"
            target = method == .get ? url.target + (url.query == nil ? "?" : "&") + "dns=" : url.target
            self.method = method
            fields = method == .get ? [.accept: mediaType] : [.accept: mediaType, .contentType: mediaType]
            self.isPadded = isPadded
            self.service = service
        }
    }

    /// The name in resolutions and errors.
    package var name: String { parts.name }
    /// One record type per question.
    package let answersOneFamily = true
    private let parts: Parts

    private static let mediaType = "application/dns-message"
    /// Queries are padded to a multiple of this many octets (RFC 8467 §4.1).
    static let paddingBlock = 128

    /// A DoH upstream.
    ///
    /// - Parameters:
    ///   - url: The URL, such as `https://dns.google/dns-query`. The certificate must be for its host.
    ///   - addresses: The addresses of the host; not needed if the URL's host is an address.
    ///   - method: The HTTP method. Default: GET.
    ///   - isPadded: Whether to pad queries, so that their length does not reveal the name's (RFC 8467). Default: true.
    ///   - transport: The transport for requests.
    /// - Throws: ``UpstreamError`` with code `misconfigured` if the URL is not https, or no address is known.
    package init(
        _ url: HTTPURL,
        at addresses: [IPAddress] = [],
        method: Method = .get,
        isPadded: Bool = true,
        transport: any UpstreamTransport
    ) throws(UpstreamError) {
        guard url.origin.scheme == .https else {
            throw UpstreamError(.misconfigured, "\(url): DNS over HTTPS needs an https URL")
        }
        let service = try UpstreamService(url.origin, at: addresses, transport: transport)
        parts = Parts(url: url, method: method, isPadded: isPadded, service: service)
    }

    /// Answers a question; see ``Upstream/answer(_:)``.
    package func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        var answer = Answer()
        for family in question.families.members {
            let asked = DNSQuestion(try question.host.dnsName(), DNSType(family))
            answer[family] = try await reply(to: asked, subnet: question.subnet) {
                (message, age) throws(UpstreamError) in try message.records(answering: asked, id: 0).aged(age)
            }
        }
        return answer
    }

    /// Answers a question; see ``ServiceUpstream/services(_:)``.
    package func services(_ question: ServiceQuestion) async throws(UpstreamError) -> ServiceReply {
        let asked = DNSQuestion(question.name, .https)
        return try await reply(to: asked, subnet: question.subnet) {
            (message, age) throws(UpstreamError) in try message.services(answering: asked, id: 0).aged(age)
        }
    }

    /// Reads a message that was in an HTTP cache for some time.
    private typealias Reader<Reply> = (DNSMessage, _ age: Duration) throws(UpstreamError) -> Reply

    @inline(never)
    private func reply<Reply>(
        to question: DNSQuestion,
        subnet: IPNetwork?,
        read: Reader<Reply>
    ) async throws(UpstreamError) -> Reply {
        let needsEDNS = parts.isPadded || subnet != nil
        let edns = EDNS(paddingBlock: parts.isPadded ? Self.paddingBlock : nil, subnet: subnet)
        if needsEDNS, let reply = try await reply(to: question, edns: edns, read: read) { return reply }
        guard let reply = try await reply(to: question, edns: nil, read: read) else {
            throw UpstreamError(.questionRefused, "the upstream refuses the question (FORMERR)")
        }
        return reply
    }

    /// What was read; nil if the server refuses EDNS.
    private func reply<Reply>(
        to question: DNSQuestion,
        edns: EDNS?,
        read: Reader<Reply>
    ) async throws(UpstreamError) -> Reply? {
        let query = DNSMessage.query(question, edns: edns)
        return try await parts.service.ask(
            make: { (request) throws(UpstreamError) in fill(&request, query: query) },
            read: { (reply) throws(UpstreamError) in
                guard let message = try message(in: reply, isEDNS: edns != nil) else { return nil }
                return try read(message, reply.age)
            }
        )
    }

    // The rest is kept out of the async functions so that their frames stay small.

    @inline(never)
    private func message(in reply: UpstreamReply, isEDNS: Bool) throws(UpstreamError) -> DNSMessage? {
        try reply.requireSuccess(hasAccount: false)
        if let type = reply.field(.contentType), type != Self.mediaType, !type.lowercased().hasPrefix(Self.mediaType) {
            throw UpstreamError(.malformedAnswer, "the reply is \"\(type)\", not a DNS message")
        }
        let message = try DNSMessage(reply: reply.body)
        return isEDNS && message.isRefusalOfEDNS ? nil : message
    }

    @inline(never)
    private func fill(_ request: inout UpstreamRequest, query: [UInt8]) {
        request.fields = parts.fields
        switch parts.method {
        case .get:
            request.target = Base64.urlSafe(query, after: parts.target)
        case .post:
            request.method = .post
            request.target = parts.target
            request.body = query
        }
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
}

extension Answer.Records {
    /// The records after `age` in an HTTP cache (RFC 8484 §5.1).
    func aged(_ age: Duration) -> Answer.Records {
        let left = { (ttl: Duration?) in ttl.map { max(.zero, $0 - age) } }
        return switch self {
        case .addresses(let addresses, let ttl): .addresses(addresses, ttl: left(ttl))
        case .absent(let absence, let ttl): .absent(absence, ttl: left(ttl))
        }
    }
}
