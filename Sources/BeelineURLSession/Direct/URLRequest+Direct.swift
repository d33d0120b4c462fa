// SPDX-License-Identifier: Apache-2.0

public import Beeline
import HTTPTypes

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// A request whose URL has an address in place of the host name, for network stacks that accept nothing else.
///
/// Host, method, body and cookies are those of the original request. Limitations: the stack sends no TLS server name for an
/// address and checks the certificate against the address. So `https` works only if the certificate covers the address, or if
/// the program checks the certificate itself (`ServerTrust` on Apple platforms). Redirects use the system's resolver, and on
/// Linux they send Host and credentials to other hosts. Connections are pooled by address. `BeelineClient` and
/// ``BeelineURLProtocol`` have none of these limitations.
public struct DirectRequest: Sendable {
    /// The request to send.
    public let request: URLRequest
    /// The original request, with the host name.
    public let original: URLRequest
    /// The host name.
    public let host: Names.Host
    /// The address that replaces the host name.
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

    /// Keeps the cookies of the response for the host name.
    ///
    /// If the stack followed a redirect, the cookies belong to the last URL: the host name with that path, or another host
    /// name. Cookies of another address are not kept, because their host is unknown.
    ///
    /// - Returns: The cookies that were kept.
    @discardableResult
    public func receive(_ response: URLResponse) -> [HTTPCookie] {
        guard let response = response as? HTTPURLResponse, let url = named(response.url) else { return [] }
        return cookies.handle(headerFields: response.allHeaderFields, for: url)
    }

    /// The URL of a response, with the host name in place of the address; `nil` for another address.
    private func named(_ url: URL?) -> URL? {
        guard let url, url.absoluteString != request.url?.absoluteString else { return original.url }
        guard let dialled = (try? HTTPURL(url))?.host.address else { return url }
        return dialled == address ? url.replacingHost(with: host) : nil
    }
}

extension URLRequest {
    /// Creates a request with an address in place of the host name. Only the host of the URL changes, and the query if the form
    /// adds a parameter.
    ///
    /// The new request sets `httpShouldHandleCookies` to false. On Linux the session must also have no `httpCookieStorage`.
    /// ``DirectRequest/receive(_:)`` keeps the cookies of the response.
    ///
    /// - Parameters:
    ///   - resolver: Resolves the host. In a network without IPv4 it translates IPv4 addresses, also one in the URL.
    ///   - form: The fields and the query parameter that carry the host name.
    ///   - cookies: The manager of the cookies to send.
    ///   - fields: Additional header fields, for example for a gateway.
    /// - Throws: `ResolutionError`; `BeelineError` with code `malformedURL`, or `addressShared` if the resolver knows several
    ///   hosts of the address, because the stack would mix their connections and other state.
    public func direct(
        via resolver: Resolver,
        form: DirectForm = DirectForm(),
        cookies: HTTPDNSCookieManager = .shared,
        fields: [String: String] = [:]
    ) async throws -> DirectRequest {
        guard let url, let named = try? HTTPURL(url) else {
            throw BeelineError(
                .malformedURL,
                "\(url?.absoluteString ?? "the request") is not a valid http or https request"
            )
        }
        // The addresses alone: the stack could not follow HTTPS records to other ports.
        let resolution = try await resolver.resolve(named.host, port: named.origin.port)
        guard let endpoint = resolution.endpoints.first else {
            throw BeelineError(.malformedURL, "\(named.host) has no address")
        }
        let address = endpoint.address
        // The resolver does not record the addresses of localhost.
        if named.host.address == nil, !resolver.hosts(of: address).isEmpty { _ = try resolver.onlyHost(of: address) }
        var request = self
        request.url = url.replacingHost(
            with: Names.Host(address),
            query: form.queryParameter == nil ? nil : form.query(of: named)
        )
        let direct = Origin(scheme: named.origin.scheme, host: Names.Host(address), port: endpoint.port)
        let changes = form.changes(of: { value(forHTTPHeaderField: $0.rawName) }, from: named.origin, to: direct)
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
    /// The URL with another host, and another query if one is given. All other octets stay the same.
    func replacingHost(with host: Names.Host, query: String? = nil) -> URL? {
        let text = absoluteString
        guard let mark = text.range(of: "//") else { return nil }
        let rest = text[mark.upperBound...]
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        let start = rest[..<end].lastIndex(of: "@").map { rest.index(after: $0) } ?? rest.startIndex
        // Finds the colon of the port, not one within brackets.
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
