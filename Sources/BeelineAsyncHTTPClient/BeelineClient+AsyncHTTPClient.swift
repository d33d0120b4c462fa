// SPDX-License-Identifier: Apache-2.0

#if AsyncHTTPClient
public import AsyncHTTPClient
public import Beeline
import HTTPTypes
public import NIOCore
import NIOHTTP1

extension BeelineClient {
    /// Runs a request of AsyncHTTPClient, and gives the response in its type: for programs that are written against it.
    ///
    /// ```swift
    /// var request = HTTPClientRequest(url: "https://api.example.com/items")
    /// request.headers.add(name: "Accept", value: "application/json")
    /// let response = try await client.execute(request, timeout: .seconds(30))
    /// let body = try await response.body.collect(upTo: 1 << 20)
    /// ```
    ///
    /// Connections, cookies, redirects, TLS and the limits are the client's. A body in memory is sent with its length and can
    /// be sent again; any other is streamed once, with the length that it was made with or that a `Content-Length` header
    /// names, and chunked where neither says one.
    ///
    /// - Parameters:
    ///   - request: What is asked. Its `tlsConfiguration` and `localAddress` are the client's to decide: a request that has
    ///     one is refused.
    ///   - timeout: How long it may take, redirects and the response's body included.
    /// - Throws: `BeelineError`.
    public func execute(_ request: HTTPClientRequest, timeout: TimeAmount) async throws -> HTTPClientResponse {
        guard request.tlsConfiguration == nil, request.localAddress == nil else {
            throw BeelineError(
                BeelineError.Code(.invalidRequest),
                "\(request.url): TLS and the local address are set in ClientConfiguration, not in a request"
            )
        }
        let url: HTTPURL
        do {
            url = try HTTPURL(request.url)
        } catch {
            throw BeelineError(.malformedURL, error.message)
        }
        var options = RequestOptions()
        var limits = configuration.limits
        limits.whole = .nanoseconds(timeout.nanoseconds)
        options.limits = limits
        let head = try request.head()
        let response = try await send(head, to: url, body: try await request.clientBody(), options: options)
        return HTTPClientResponse(response)
    }
}
#endif
