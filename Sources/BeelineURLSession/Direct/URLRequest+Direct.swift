// SPDX-License-Identifier: Apache-2.0

public import Beeline
import HTTPTypes

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// A request whose URL has an address in the place of the name: the old form, for stacks that can take nothing else.
///
/// Host, method, body and the cookies of the name are those of the original. What the form cannot do: the stack sends no
/// TLS server name for an address and checks the certificate against the address, so `https` works only where the
/// certificate names the address, or where the program checks it itself (`ServerTrust` on Apple's platforms). Redirects
/// leave by the system's resolver, and on Linux take Host and credentials with them to other hosts; connections are pooled
/// by address. `BeelineClient` and ``BeelineURLProtocol`` have none of these faults.
public struct DirectRequest: Sendable {
    /// The request to send.
    public let request: URLRequest
    /// The request as it was, with the name.
    public let original: URLRequest
    /// The name.
    public let host: Names.Host
    /// The address that was dialled in its place.
    public let address: IPAddress
    private let cookies: HTTPDNSCookieManager

    init(
        _ request: URLRequest,
        original: URLRequest,
        host: Names.Host,
        address: IPAddress,
        cookies: HTTPDNSCookieManager
    ) {
        self.request = request
        self.original = original
        self.host = host
        self.address = address
        self.cookies = cookies
    }

    /// Keeps the cookies of the response, under the name.
    ///
    /// Where the stack followed a redirect, they are those of the last URL: of the name with that path, or of another name. Those of
    /// another address are nobody's, and are not kept.
    ///
    /// - Returns: The cookies that were kept.
    @discardableResult
    public func receive(_ response: URLResponse) -> [HTTPCookie] {
        guard let response = response as? HTTPURLResponse, let url = named(response.url) else { return [] }
        return cookies.handle(headerFields: response.allHeaderFields, for: url)
    }

    /// Where a response comes from, with the name in the place of the address.
    private func named(_ url: URL?) -> URL? {
        guard let url, url.absoluteString != request.url?.absoluteString else { return original.url }
        guard let dialled = (try? HTTPURL(url))?.host.address else { return url }
        return dialled == address ? url.replacingHost(with: host) : nil
    }
}

extension URLRequest {
    /// The request in the old form: the address of its host in the place of the name. Nothing else of the URL is changed but
    /// the parameter that the form may add.
    ///
    /// Foundation is told to leave the request's cookies alone; on Linux that takes a session without `httpCookieStorage`
    /// besides. ``DirectRequest/receive(_:)`` keeps those of the response.
    ///
    /// - Parameters:
    ///   - resolver: Who says where the host is. In a network without IPv4 it answers with what stands for an IPv4 address,
    ///     one in the URL included.
    ///   - form: Which fields and which parameter name the host.
    ///   - cookies: Whose cookies go with it.
    ///   - fields: Further header fields, which the program's gateway may want.
    /// - Throws: `ResolutionError`; `BeelineError` with code `malformedURL`, or `addressShared` where the resolver knows
    ///   several hosts of the address: what the stack keeps under it, connections among others, would be mixed.
    public func direct(
        via resolver: Resolver,
        form: DirectForm = DirectForm(),
        cookies: HTTPDNSCookieManager = .shared,
        fields: [String: String] = [:]
    ) async throws -> DirectRequest {
        guard let url, let named = try? HTTPURL(url) else {
            throw BeelineError(
                .malformedURL,
                "\(url?.absoluteString ?? "the request") is nothing that HTTP can be asked for"
            )
        }
        let resolution = try await resolver.resolve(named.origin)
        guard let endpoint = resolution.endpoints.first else {
            throw BeelineError(.malformedURL, "\(named.host) has no address")
        }
        let address = endpoint.address
        if named.host.address == nil { _ = try resolver.onlyHost(of: address) }
        var request = self
        request.url = url.replacingHost(
            with: Names.Host(address),
            query: form.queryParameter == nil ? nil : form.query(of: named)
        )
        let direct = Origin(scheme: named.origin.scheme, host: Names.Host(address), port: endpoint.port)
        let changes = form.changes(
            of: { value(forHTTPHeaderField: $0.rawName) },
            from: named.origin,
            to: direct
        )
        for (name, value) in changes { request.setValue(value, forHTTPHeaderField: name.rawName) }
        for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
        if request.httpShouldHandleCookies {
            let own = request.value(forHTTPHeaderField: "Cookie").map(CookiePair.pairs) ?? []
            let names = Set(own.map(\.name))
            let kept = CookiePair.pairs(of: cookies.requestCookieHeader(for: url) ?? "")
            let all = (kept.filter { !names.contains($0.name) } + own).map {
                $0.name.isEmpty ? $0.value : "\($0.name)=\($0.value)"
            }
            request.setValue(all.isEmpty ? nil : all.joined(separator: "; "), forHTTPHeaderField: "Cookie")
        }
        request.httpShouldHandleCookies = false
        return DirectRequest(request, original: self, host: named.host, address: address, cookies: cookies)
    }
}

extension URL {
    /// The URL with its authority's host replaced, and its query where another is given; every other octet stays as it is.
    func replacingHost(with host: Names.Host, query: String? = nil) -> URL? {
        let text = absoluteString
        guard let mark = text.range(of: "//") else { return nil }
        let rest = text[mark.upperBound...]
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        let start = rest[..<end].lastIndex(of: "@").map { rest.index(after: $0) } ?? rest.startIndex
        // The port's colon, and not one within brackets.
        let bracket = rest[start..<end].lastIndex(of: "]") ?? start
        let port = rest[bracket..<end].lastIndex(of: ":") ?? end
        var tail = String(text[port...])
        if let query {
            let fragment = tail.firstIndex(of: "#") ?? tail.endIndex
            let mark = tail[..<fragment].firstIndex(of: "?") ?? fragment
            tail.replaceSubrange(mark..<fragment, with: "?" + query)
        }
        return URL(string: text[..<start] + host.urlForm + tail)
    }
}
