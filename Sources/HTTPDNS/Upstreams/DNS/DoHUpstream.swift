// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
package import Names

/// DNS over HTTPS (RFC 8484).
package final class DoHUpstream: MessageUpstream {
    /// The HTTP method for queries.
    package enum Method: Hashable, Sendable {
        /// The query is in the URL; HTTP caches may answer.
        case get
        /// The query is in the body.
        case post
    }

    package let name: String
    package let answersOneFamily = true
    package var isAuthenticated: Bool { service.isAuthenticated }
    /// Path and query of the URL; for GET, everything before the message.
    private let target: String
    private let method: Method
    private let fields: HTTPFields
    private let isPadded: Bool
    private let service: UpstreamService

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
        service = try UpstreamService(url.origin, at: addresses, transport: transport)
        name = "doh:\(url.origin.authority)"
        target = method == .get ? url.target + (url.query == nil ? "?" : "&") + "dns=" : url.target
        fields =
            method == .get ? [.accept: Self.mediaType] : [.accept: Self.mediaType, .contentType: Self.mediaType]
        self.method = method
        self.isPadded = isPadded
    }

    package func response(to query: MessageQuery) async throws(UpstreamError) -> DNSMessage {
        let message = try await response(to: query, edns: query.edns(paddingBlock: isPadded ? Self.paddingBlock : nil))
        guard message.isRefusalOfEDNS, !query.wantsSignatures else { return message }
        return try await response(to: query, edns: nil)
    }

    private func response(to query: MessageQuery, edns: EDNS?) async throws(UpstreamError) -> DNSMessage {
        let octets = DNSMessage.query(query.question, edns: edns, checks: query.checks)
        return try await service.ask(
            make: { (request) throws(UpstreamError) in fill(&request, query: octets) },
            read: { (reply) throws(UpstreamError) in
                var message = try message(in: reply)
                guard message.id == 0 else {
                    throw UpstreamError(.wrongAnswer, "the message is not a response to this query")
                }
                message = try query.checked(message)
                message.age(by: reply.age)
                return message
            }
        )
    }

    // The rest is kept out of the async functions so that their frames stay small.

    /// The message in an HTTP reply.
    private func message(in reply: UpstreamReply) throws(UpstreamError) -> DNSMessage {
        try reply.requireSuccess(hasAccount: false)
        if let type = reply.field(.contentType), type != Self.mediaType, !type.lowercased().hasPrefix(Self.mediaType) {
            throw UpstreamError(.malformedAnswer, "the reply is \"\(type)\", not a DNS message")
        }
        return try DNSMessage(reply: reply.body)
    }

    @inline(never)
    private func fill(_ request: inout UpstreamRequest, query: [UInt8]) {
        request.fields = fields
        switch method {
        case .get:
            request.target = Base64.urlSafe(query, after: target)
        case .post:
            request.method = .post
            request.target = target
            request.body = query
        }
    }
}
