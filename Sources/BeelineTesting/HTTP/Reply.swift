// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// A handler's reply. It is a valid response by default, and its properties can make it invalid.
///
/// ```swift
/// .text("hello")                                                     // 200, Content-Length
/// .chunks("one", .wait(gate), "two")                                 // chunked; waits for the gate between the chunks
/// Reply(fields: [.contentLength: "100"], body: ["half"], ending: .hangUp)     // closes within the body
/// Reply(fields: [.contentLength: "3"], body: ["too long"])           // more than Content-Length
/// .raw("HTTP/1.1 twohundred\r\n\r\n")                                // not valid HTTP
/// ```
public struct Reply: Sendable {
    /// The status. HTTP/1.1 also sends its reason phrase.
    public var status: HTTPResponse.Status
    /// The header fields. A Content-Length or Transfer-Encoding field is sent unchanged, even if wrong, and the server adds no
    /// other.
    public var fields: HTTPFields
    /// The body. It is not sent if HTTP allows none: for HEAD, 204 and 304.
    public var body: [Piece]
    /// How the end of the body is marked.
    package var framing: Framing
    /// The trailer fields. Only chunked bodies and HTTP/2 send them.
    package var trailers: HTTPFields
    /// The interim responses (1xx) to send first.
    package var interim: [HTTPResponse]
    /// The action on the connection after the reply.
    package var ending: Ending
    var takeover: (@Sendable (RawConnection) async throws -> Void)?

    /// Creates a reply. `ending` says what happens to the connection afterwards.
    public init(
        status: HTTPResponse.Status = .ok,
        fields: HTTPFields = [:],
        body: [Piece] = [],
        ending: Ending = .keepAlive
    ) {
        self.init(status: status, fields: fields, body: body, framing: .length, ending: ending)
    }

    package init(
        status: HTTPResponse.Status = .ok,
        fields: HTTPFields = [:],
        body: [Piece] = [],
        framing: Framing,
        trailers: HTTPFields = [:],
        interim: [HTTPResponse] = [],
        ending: Ending = .keepAlive
    ) {
        self.status = status
        self.fields = fields
        self.body = body
        self.framing = framing
        self.trailers = trailers
        self.interim = interim
        self.ending = ending
    }

    /// A part of a body.
    public struct Piece: Sendable, ExpressibleByStringLiteral {
        enum Kind: Sendable {
            case bytes([UInt8])
            case zeros(Int)
            case wait(Gate)
        }

        let kind: Kind

        /// These bytes. A chunked body sends them as one chunk.
        public static func bytes(_ bytes: [UInt8]) -> Piece { Piece(kind: .bytes(bytes)) }
        /// This text as UTF-8.
        public static func text(_ text: String) -> Piece { .bytes(Array(text.utf8)) }
        /// This number of zero bytes, generated during sending.
        public static func zeros(_ count: Int) -> Piece { Piece(kind: .zeros(count)) }
        /// Waits for the gate. Earlier pieces are sent before the wait.
        public static func wait(_ gate: Gate) -> Piece { Piece(kind: .wait(gate)) }

        /// Creates a piece of UTF-8 text.
        public init(stringLiteral text: String) { self = .text(text) }

        init(kind: Kind) { self.kind = kind }
    }

    /// How the end of the body is marked (RFC 9112 §6.3). HTTP/2 uses END_STREAM instead.
    package enum Framing: Hashable, Sendable {
        /// Content-Length.
        case length
        /// `Transfer-Encoding: chunked`.
        case chunked
        /// The end of the connection. The server then always closes it.
        case untilClose
        /// No head; only the pieces are sent.
        case none
    }

    /// The action on the connection after the last piece.
    public enum Ending: Hashable, Sendable {
        /// Completes the message and keeps the connection open.
        case keepAlive
        /// Completes the message and closes the connection, announced by `Connection: close`. On HTTP/2 announces it by
        /// GOAWAY (RFC 9113 §6.8) and leaves the closing to the client, which may have other streams.
        case close
        /// Closes the connection without announcement, without the last chunk and, over TLS, without `close_notify`.
        case hangUp
        /// Resets the connection (RST). On HTTP/2 resets only the stream (RST_STREAM, INTERNAL_ERROR).
        case reset
    }
}

/// The rules that HTTP/1.1 and HTTP/2 share.
extension Reply {
    /// Whether the status and the request's method allow no body (RFC 9110 §6.4.1).
    func hasNoBody(for method: HTTPRequest.Method) -> Bool {
        method == .head || status.code == 204 || status.code == 304
    }

    /// Whether the end of the message is sent.
    var isCompleted: Bool { ending == .keepAlive || ending == .close }

    /// The size of the body, in bytes.
    var bodySize: Int {
        body.reduce(0) { size, piece in
            switch piece.kind {
            case .bytes(let bytes): size + bytes.count
            case .zeros(let count): size + count
            case .wait: size
            }
        }
    }

    /// Passes the pieces of the body to `send`, zeros in blocks of at most 64 KiB.
    func sendBody(by send: ([UInt8]) async throws -> Void) async throws {
        for piece in body {
            switch piece.kind {
            case .wait(let gate): try await gate.wait()
            case .bytes(let bytes): try await send(bytes)
            case .zeros(var left):
                let block = [UInt8](repeating: 0, count: min(left, 65_536))
                while left > 0 {
                    try await send(left < block.count ? Array(block.prefix(left)) : block)
                    left -= block.count
                }
            }
        }
    }
}
