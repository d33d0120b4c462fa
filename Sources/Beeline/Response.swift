// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
public import HTTPDNS
public import HTTPTypes
public import NIOCore
public import Names

/// A response: its head is there, its body is on its way, and the way it took can be read.
public struct Response: Sendable {
    /// Status and fields of the last hop, or what an ``Interceptor`` made of them.
    public var head: HTTPResponse
    /// The body, streamed.
    public var body: ResponseBody
    /// Every hop, the last one included: one for a request that was not redirected.
    public let hops: [Hop]
    /// How often the request was tried; see ``RetryPolicy``.
    public internal(set) var tries = 1
    /// Nil where no server answered.
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

    /// The trailer fields (RFC 9110 §6.5); nil before the body was read to its end, and where there are none.
    public var trailers: HTTPFields? { exchange?.trailers }

    /// The WebSocket that it opened; nil for every other response.
    var webSocket: WebSocket? { exchange?.webSocket }

    /// How long each phase of the last hop took, in nanoseconds; that of the body is known once it was read to its end.
    public var timings: PhaseTimings { PhaseTimings(hop.timings, body: exchange?.bodyTime) }

    /// The hop that brought this response.
    public var hop: Hop { hops[hops.count - 1] }

    /// The URL that answered, after all redirects.
    public var url: HTTPURL { hop.url }

    /// The endpoint that answered (or the proxy's).
    public var endpoint: Endpoint { hop.endpoint }

    /// How the endpoint was known when it was dialled; nil through a proxy, and where it was pinned.
    public var resolution: Resolution? { hop.resolution }

    /// The whole body in memory.
    ///
    /// - Parameter limit: bytes after decoding; a larger body throws `responseTooLarge`.
    public func collect(upTo limit: Int) async throws(BeelineError) -> ByteBuffer {
        do {
            return try await body.collect(upTo: limit)
        } catch {
            throw BeelineError(error, hops: hops)
        }
    }
}
