// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
public import HTTPDNS
public import HTTPTypes
public import NIOCore
public import Names

/// A response: its head is there, its body is on its way, and the way it took can be read.
public struct Response: Sendable {
    /// Status and fields of the last hop.
    public let head: HTTPResponse
    /// The body, streamed.
    public let body: ResponseBody
    /// Every hop, the last one included: one for a request that was not redirected.
    public let hops: [Hop]
    private let trailerSource: ExchangeResponse

    init(_ response: ExchangeResponse, hops: [Hop]) {
        head = response.head
        body = response.body
        trailerSource = response
        self.hops = hops
    }

    /// The status.
    public var status: HTTPResponse.Status { head.status }

    /// The fields.
    public var fields: HTTPFields { head.headerFields }

    /// The trailer fields (RFC 9110 §6.5); nil before the body was read to its end, and where there are none.
    public var trailers: HTTPFields? { trailerSource.trailers }

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
