// SPDX-License-Identifier: Apache-2.0

#if AsyncHTTPClient
public import AsyncHTTPClient
public import Beeline
import HTTPTypes
public import NIOCore
import NIOHTTP1

extension BeelineClient {
    /// Runs an AsyncHTTPClient request and returns an AsyncHTTPClient response, for programs written for that library.
    ///
    /// ```swift
    /// var request = HTTPClientRequest(url: "https://api.example.com/items")
    /// request.headers.add(name: "Accept", value: "application/json")
    /// let response = try await client.execute(request, timeout: .seconds(30))
    /// let body = try await response.body.collect(upTo: 1 << 20)
    /// ```
    ///
    /// The request uses the client's connections, cookies, redirects, TLS and limits. A body in memory is sent with its length
    /// and can be resent. Any other body is streamed once. Its length comes from the body or from a `Content-Length` header; if
    /// neither has one, the body is chunked. No content coding is requested. If the server compresses the body anyway, it is
    /// decoded, and the response has no `Content-Encoding` and no `Content-Length`. With an `Accept-Encoding` of the request,
    /// the body is returned as received.
    ///
    /// - Parameters:
    ///   - request: The request. It must not set `tlsConfiguration` or `localAddress`, which the client's configuration
    ///     decides.
    ///   - timeout: The time limit, including redirects and the response body.
    /// - Throws: `BeelineError`; its code is `invalidRequest` for a request with `tlsConfiguration` or `localAddress`.
    public func execute(_ request: HTTPClientRequest, timeout: TimeAmount) async throws -> HTTPClientResponse {
        guard request.tlsConfiguration == nil, request.localAddress == nil else {
            throw BeelineError(
                .invalidRequest,
                "\(request.url): TLS and the local address are set in ClientConfiguration, not in a request"
            )
        }
        let url: HTTPURL
        do {
            url = try HTTPURL(request.url)
        } catch {
            throw BeelineError(error)
        }
        var options = RequestOptions()
        var limits = configuration.limits
        limits.total = .nanoseconds(timeout.nanoseconds)
        options.limits = limits
        // As AsyncHTTPClient by default.
        options.offersCodings = false
        let head = try request.head()
        let response = try await send(head, to: url, body: try await request.clientBody(), options: options)
        return HTTPClientResponse(response)
    }
}
#endif
