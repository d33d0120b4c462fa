// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
public import HTTPDNS
public import HTTPTypes
public import NIOCore
public import Names

/// A response: its head, its body as a stream, and the hops that led to it.
public struct Response: Sendable {
    /// Status and fields of the last hop, or those that an ``Interceptor`` set.
    public var head: HTTPResponse
    /// The body, as a stream.
    public var body: ResponseBody
    /// Every hop, including the last. A request without redirects has one hop.
    public let hops: [Hop]
    /// The number of tries; see ``RetryPolicy``.
    public internal(set) var tries = 1
    /// `nil` if no server answered.
    private let exchange: ExchangeResponse?

    init(_ response: ExchangeResponse, hops: [Hop]) {
        head = response.head
        body = response.body
        exchange = response
        self.hops = hops
    }

    init(head: HTTPResponse, body: ResponseBody, hops: [Hop]) {
        self.head = head
        self.body = body
        self.hops = hops
        exchange = nil
    }

    /// The status.
    public var status: HTTPResponse.Status { head.status }

    /// The fields.
    public var fields: HTTPFields { head.headerFields }

    /// The trailer fields (RFC 9110 §6.5); `nil` until the body has been read to its end, and if there are none.
    public var trailers: HTTPFields? { exchange?.trailers }

    /// The number of bytes of the body received so far, before decoding.
    package var receivedBytes: Int64 { exchange?.receivedBytes ?? 0 }

    /// The WebSocket that the response opened; `nil` for any other response.
    var webSocket: WebSocket? { exchange?.webSocket }

    /// The duration of each phase of the last hop. That of the body is set once the body has been read to its end.
    public var timings: ExchangeTimings {
        var timings = hop.timings
        timings.body = exchange?.bodyTime
        return timings
    }

    /// The last hop.
    public var hop: Hop { hops[hops.count - 1] }

    /// The URL of the last hop, after all redirects and after HSTS; see ``Hop/isUpgradedToTLS``.
    public var url: HTTPURL { hop.url }

    /// The endpoint of the last hop: that of the origin or of the proxy.
    public var endpoint: Endpoint { hop.endpoint }

    /// How the endpoint was resolved when it was dialled. `nil` if nothing was resolved: for a proxy, a Unix domain
    /// socket, a host with fixed addresses, or a response of an ``Interceptor``.
    public var resolution: Resolution? { hop.resolution }

    /// Reads the whole body into memory.
    ///
    /// - Parameter limit: The maximum number of bytes after content decoding, at most 2 GiB. A larger body throws
    ///   `responseTooLarge`.
    /// - Throws: ``BeelineError``; `invalidRequest` if the body was already read to its end.
    public func collect(upTo limit: Int) async throws(BeelineError) -> ByteBuffer {
        do {
            return try await body.collect(upTo: limit)
        } catch {
            throw BeelineError(error, of: self)
        }
    }
}

extension BeelineError {
    /// Creates the error of a response whose body failed.
    package init(_ error: DirectHTTPError, of response: Response) {
        self.init(error, hops: response.hops)
        addOrigin(response.url.origin)
    }
}
