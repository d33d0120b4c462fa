// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// What a handler answers: a good response by default, and every bad one by saying so.
///
/// ```swift
/// .text("hello")                                                     // 200, Content-Length
/// .chunks("one", .wait(gate), "two")                                 // chunked, the second piece when the gate opens
/// Reply(fields: [.contentLength: "100"], body: ["half"], ending: .hangUp)     // closed in mid-body
/// Reply(fields: [.contentLength: "3"], body: ["too long"])           // more than Content-Length
/// .raw("HTTP/1.1 twohundred\r\n\r\n")                                // not HTTP at all
/// .takeover { connection in … }                                      // the bytes are yours from here
/// ```
public struct Reply: Sendable {
    /// The status; its reason phrase goes on the wire of HTTP/1.1.
    public var status: HTTPResponse.Status
    /// The header fields. A Content-Length or Transfer-Encoding in them is sent as it is, right or wrong, and none is
    /// added beside it.
    public var fields: HTTPFields
    /// The body. It is left out where HTTP has none: to HEAD, and for 204 and 304.
    public var body: [Piece]
    /// How the client is told where the body ends.
    public var framing: Framing
    /// The trailer fields; only a chunked body and HTTP/2 have room for them.
    public var trailers: HTTPFields
    /// Interim responses (1xx) that go before.
    public var interim: [HTTPResponse]
    /// What happens to the connection afterwards.
    public var ending: Ending
    var takeover: (@Sendable (RawConnection) async throws -> Void)?

    /// A response of parts.
    public init(
        status: HTTPResponse.Status = .ok,
        fields: HTTPFields = [:],
        body: [Piece] = [],
        framing: Framing = .length,
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

        /// These bytes; in a chunked body one chunk.
        public static func bytes(_ bytes: [UInt8]) -> Piece { Piece(kind: .bytes(bytes)) }
        /// This text in UTF-8.
        public static func text(_ text: String) -> Piece { .bytes(Array(text.utf8)) }
        /// So many zero bytes, made as they are sent.
        public static func zeros(_ count: Int) -> Piece { Piece(kind: .zeros(count)) }
        /// Nothing, until the gate opens; what stands before it has left by then.
        public static func wait(_ gate: Gate) -> Piece { Piece(kind: .wait(gate)) }

        /// The text in UTF-8.
        public init(stringLiteral text: String) { self = .text(text) }

        init(kind: Kind) { self.kind = kind }

        var count: Int {
            switch kind {
            case .bytes(let bytes): bytes.count
            case .zeros(let count): count
            case .wait: 0
            }
        }
    }

    /// How the client is told where the body ends (RFC 9112 §6.3). HTTP/2 says it in its own way.
    public enum Framing: Hashable, Sendable {
        /// By Content-Length.
        case length
        /// By `Transfer-Encoding: chunked`.
        case chunked
        /// By the end of the connection; give it an ending other than ``Ending/keepAlive``.
        case untilClose
        /// There is no head: the pieces are all that is sent.
        case none
    }

    /// What happens to the connection after the last piece.
    public enum Ending: Hashable, Sendable {
        /// The message is whole, the connection stays.
        case keepAlive
        /// The message is whole, `Connection: close` announces that the connection ends with it.
        case close
        /// The connection is closed without announcement; over TLS without `close_notify`, and without the last chunk.
        case hangUp
        /// The connection is reset (RST); on HTTP/2 only the stream (RST_STREAM, INTERNAL_ERROR).
        case reset
    }
}
