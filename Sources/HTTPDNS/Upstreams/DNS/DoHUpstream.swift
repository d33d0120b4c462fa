// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
package import Names

/// DNS over HTTPS (RFC 8484).
package struct DoHUpstream: Upstream {
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
    /// Whether the server's certificate is verified; see ``ServiceUpstream/isAuthenticated``.
    package var isAuthenticated: Bool { service.isAuthenticated }
    private let parts: Parts
    var isPadded: Bool { parts.isPadded }
    var service: UpstreamService { parts.service }

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
            answer[family] = try await records(for: question, family: family)
        }
        return answer
    }

    @inline(never)
    private func records(
        for asked: Question,
        family: IPAddress.Family
    ) async throws(UpstreamError) -> Answer.Records {
        let question = DNSQuestion(try asked.host.dnsName(), DNSType(family))
        let needsEDNS = parts.isPadded || asked.subnet != nil
        let edns = EDNS(paddingBlock: parts.isPadded ? Self.paddingBlock : nil, subnet: asked.subnet)
        if needsEDNS, let records = try await records(for: question, edns: edns) { return records }
        guard let records = try await records(for: question, edns: nil) else {
            throw UpstreamError(.questionRefused, "the upstream refuses the question (FORMERR)")
        }
        return records
    }

    /// The records; nil if the server refuses EDNS.
    private func records(for question: DNSQuestion, edns: EDNS?) async throws(UpstreamError) -> Answer.Records? {
        let query = DNSMessage.query(question, edns: edns)
        return try await parts.service.ask(
            make: { (request) throws(UpstreamError) in fill(&request, query: query) },
            read: { (reply) throws(UpstreamError) in try records(in: reply, answering: question, isEDNS: edns != nil) }
        )
    }

    // The rest is kept out of the async functions so that their frames stay small.

    @inline(never)
    private func records(
        in reply: UpstreamReply,
        answering question: DNSQuestion,
        isEDNS: Bool
    ) throws(UpstreamError) -> Answer.Records? {
        let message = try message(in: reply)
        if isEDNS, message.isRefusalOfEDNS { return nil }
        return try message.records(answering: question, id: 0).aged(reply.age)
    }

    /// The message in an HTTP reply.
    func message(in reply: UpstreamReply) throws(UpstreamError) -> DNSMessage {
        try reply.requireSuccess(hasAccount: false)
        if let type = reply.field(.contentType), type != Self.mediaType, !type.lowercased().hasPrefix(Self.mediaType) {
            throw UpstreamError(.malformedAnswer, "the reply is \"\(type)\", not a DNS message")
        }
        return try DNSMessage(reply: reply.body)
    }

    @inline(never)
    func fill(_ request: inout UpstreamRequest, query: [UInt8]) {
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
