// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
import NIOCore

/// A response whose head has arrived and whose body is being received. A class, because it is handed on often.
public final class ExchangeResponse: Sendable {
    /// The status and the fields as received. `Content-Encoding` and `Content-Length` describe the body before decoding.
    public let head: HTTPResponse
    /// The body. It is decoded if the request asked for that and its codings are at most two of gzip, deflate, and, with the
    /// traits `Brotli` and `Zstandard`, br and zstd; other codings are left as they are.
    public let body: ResponseBody
    /// The connection that carried the response.
    public let connection: ConnectionInfo
    /// The protocol of the response: the choice of ALPN, such as `h2`; otherwise `http/1.1`, or `http/1.0` if the
    /// status line has that version.
    public let applicationProtocol: String
    /// Whether the request was written in HTTP/1.0.
    package let isRequestHTTP10: Bool
    /// Whether the connection had carried another exchange before.
    public let isReused: Bool
    /// How long each phase took.
    public let timings: ExchangeTimings
    /// The WebSocket that the response opened; nil for every other response.
    package let webSocket: WebSocket?
    /// Nil for the response to a WebSocket handshake.
    private let exchange: Exchange?

    init(
        head: HTTPResponse,
        isHTTP10: Bool = false,
        isRequestHTTP10: Bool = false,
        exchange: Exchange? = nil,
        decodes: Bool = false,
        webSocket: WebSocket? = nil,
        connection: ConnectionInfo,
        isReused: Bool = false,
        timings: ExchangeTimings
    ) {
        self.head = head
        let codings = decodes ? head.headerFields[.contentEncoding].map(ContentCoding.list) ?? [] : []
        body = exchange.map { ResponseBody(exchange: $0, codings: codings) } ?? .bytes(ByteBuffer())
        self.connection = connection
        applicationProtocol = isHTTP10 ? "http/1.0" : connection.applicationProtocol
        self.isRequestHTTP10 = isRequestHTTP10
        self.isReused = isReused
        self.timings = timings
        self.webSocket = webSocket
        self.exchange = exchange
    }

    /// Whether the request's body was not read, because the server answered instead of sending `100 Continue`. A body
    /// that can be read only once can then be sent with another request.
    package var isRequestBodyUnread: Bool { exchange?.gate?.isRefused ?? false }

    /// The trailer fields (RFC 9110 §6.5); nil if there are none, or before the body is read to its end.
    public var trailers: HTTPFields? { exchange?.trailers }

    /// The number of bytes of the body received so far, before decoding.
    package var receivedBytes: Int64 { exchange?.receivedBytes ?? 0 }

    /// The time from the head to the last byte of the body; nil before the body has ended.
    package var bodyTime: Duration? {
        guard let ending = exchange?.ending else { return nil }
        return max(.zero, Duration(ending.time - timings.headTime))
    }

    /// Calls `observer` once when the body ends, fails or is cancelled, with the error, the time since the head and the number of
    /// bytes received. It is called on an event loop and must not block.
    package func whenOver(_ observer: @escaping @Sendable (DirectHTTPError?, Duration, Int64) -> Void) {
        guard let exchange else { return observer(nil, .zero, 0) }
        let headTime = timings.headTime
        exchange.whenOver { observer($0.error, max(.zero, Duration($0.time - headTime)), $0.receivedBytes) }
    }
}

/// How long each phase of an exchange took. A phase that a reused connection skipped is nil.
public struct ExchangeTimings: Sendable, Hashable {
    /// Resolving the endpoints.
    public let resolve: Duration?
    /// TCP, from the start of the race.
    public let connect: Duration?
    /// TLS, and a proxy's CONNECT.
    public let handshake: Duration?
    /// From sending the request to the first byte of the response.
    public let firstByte: Duration
    /// From the call to the head of the response.
    public let total: Duration
    /// From the head to the last byte of the body; nil until the body has ended.
    public package(set) var body: Duration?
    /// When the head had arrived.
    let headTime: NIODeadline

    /// The timings of a response that no server sent.
    package static let none = ExchangeTimings()

    private init() {
        resolve = nil
        connect = nil
        handshake = nil
        firstByte = .zero
        total = .zero
        headTime = .uptimeNanoseconds(0)
    }

    init(info: ConnectionInfo, isReused: Bool, firstByte: Duration, begin: NIODeadline) {
        resolve = isReused ? nil : info.resolveTime
        connect = isReused ? nil : info.connectTime
        handshake = isReused ? nil : info.handshakeTime
        self.firstByte = firstByte
        headTime = .now()
        total = Duration(headTime - begin)
    }
}
