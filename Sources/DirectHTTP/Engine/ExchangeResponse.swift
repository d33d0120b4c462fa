// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
import NIOCore

/// A response whose head is there and whose body is on its way.
public struct ExchangeResponse: Sendable {
    private struct Parts: Sendable {
        let head: HTTPResponse
        let body: ResponseBody
        let connection: ConnectionInfo
        let applicationProtocol: String
        let isReused: Bool
        let timings: ExchangeTimings
        var webSocket: WebSocket?
        /// Nil for the answer to a WebSocket's handshake.
        var exchange: Exchange?
    }

    private let parts: Shared<Parts>

    /// Status and fields, as they came. Where the body is decoded, `Content-Encoding` and `Content-Length` still say what
    /// was on the wire.
    public var head: HTTPResponse { parts.value.head }
    /// The body, decoded where its coding is gzip or deflate, or two of them on top of each other, and the request asked for that.
    /// Of other codings it comes as it is.
    public var body: ResponseBody { parts.value.body }
    /// The connection that carried it.
    public var connection: ConnectionInfo { parts.value.connection }
    /// What the response was written in: what ALPN chose for the connection, such as `h2`, else `http/1.1`, or `http/1.0` where
    /// its status line says so.
    public var applicationProtocol: String { parts.value.applicationProtocol }
    /// Whether the connection had served another exchange before.
    public var isReused: Bool { parts.value.isReused }
    /// How long each phase took.
    public var timings: ExchangeTimings { parts.value.timings }
    /// The WebSocket that it opened; nil for every other response.
    package var webSocket: WebSocket? { parts.value.webSocket }
    private var exchange: Exchange? { parts.value.exchange }

    init(
        head: HTTPResponse,
        isOld: Bool,
        exchange: Exchange,
        decodes: Bool,
        connection: ConnectionInfo,
        isReused: Bool,
        timings: ExchangeTimings
    ) {
        let codings = decodes ? head.headerFields[.contentEncoding].map(Inflater.Coding.list) ?? [] : []
        parts = Shared(
            Parts(
                head: head,
                body: ResponseBody(exchange: exchange, codings: codings),
                connection: connection,
                applicationProtocol: isOld ? "http/1.0" : connection.applicationProtocol,
                isReused: isReused,
                timings: timings,
                exchange: exchange
            )
        )
    }

    /// The answer to a WebSocket's handshake.
    init(head: HTTPResponse, webSocket: WebSocket?, connection: ConnectionInfo, timings: ExchangeTimings) {
        parts = Shared(
            Parts(
                head: head,
                body: .bytes(ByteBuffer()),
                connection: connection,
                applicationProtocol: connection.applicationProtocol,
                isReused: false,
                timings: timings,
                webSocket: webSocket
            )
        )
    }

    /// The trailer fields (RFC 9110 §6.5); nil before the body was read to its end, and where there are none.
    public var trailers: HTTPFields? { exchange?.trailers }

    /// From the head to the body's last byte; nil before that came.
    public var bodyTime: Duration? {
        guard let ending = exchange?.ending else { return nil }
        return max(.zero, Duration(ending.time - timings.headTime))
    }

    /// Has `observer` called once when the body has come to its end, or broke, or was given up: with the error, the time
    /// since the head, and the bytes that came. It is called on an event loop and must not wait.
    package func whenOver(_ observer: @escaping @Sendable (DirectHTTPError?, Duration, Int64) -> Void) {
        guard let exchange else { return observer(nil, .zero, 0) }
        let headTime = timings.headTime
        exchange.whenOver { observer($0.error, max(.zero, Duration($0.time - headTime)), $0.receivedBytes) }
    }
}

/// How long each phase of an exchange took. A phase that a kept connection spared is nil.
public struct ExchangeTimings: Sendable, Hashable {
    /// Naming the endpoints.
    public let resolve: Duration?
    /// TCP, from the start of the race.
    public let connect: Duration?
    /// TLS, and a proxy's CONNECT.
    public let handshake: Duration?
    /// From sending the request to the first byte of the response.
    public let firstByte: Duration
    /// From the call to the response's head.
    public let total: Duration
    /// When the head was there.
    let headTime: NIODeadline

    /// Those of a response that nobody sent.
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
