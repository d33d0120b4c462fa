// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import NIOCore

/// Reads the bytes of one HTTP/1.x connection as responses (RFC 9112). Memory is bounded, and time is linear.
///
/// The caller feeds bytes from the socket, then takes events until there are none. Each request must be announced with
/// ``expect(method:)``, because the request's method decides whether the response has a body.
///
/// It replaces NIO's codec to read in one pass, to keep the head as received and to limit every part of a message.
package struct HTTP1ResponseReader {
    package enum Event: Equatable {
        /// A 1xx response; the final one follows.
        case informational(HTTPResponse, raw: ByteBuffer)
        /// The final response's head as received, and whether the connection can be reused after the response.
        case head(HTTPResponse, raw: ByteBuffer, keepAlive: Bool)
        case body(ByteBuffer)
        /// The end of the response.
        ///
        /// - Parameter isClear: false if other recipients may find another end of the body, or if bytes follow. The connection must
        ///   then not be used again.
        case end(trailers: HTTPFields?, isClear: Bool)
    }

    /// The maximum number of informational responses to one request.
    package static let maxInformational = 32

    private enum State {
        case head
        case body
        /// The response is complete. Bytes that follow are unsolicited.
        case done
    }

    /// The limits of a head, and of the trailers: the size in bytes and the number of fields.
    package struct Limits: Sendable {
        package var headBytes: Int
        package var fieldCount: Int

        package init(headBytes: Int = 64 * 1024, fieldCount: Int = 1_000) {
            self.headBytes = headBytes
            self.fieldCount = fieldCount
        }
    }

    private let limits: Limits
    private var state = State.done
    private var head: HTTP1HeadReader
    private var body = HTTP1BodyReader(.none)
    private var buffer = ByteBuffer()
    private var method = HTTPRequest.Method.get
    private var ignoresLength = false
    private var keepsTransferCoding = false
    private var hasReadHead = false
    private var informationalCount = 0
    /// Servers repeat their heads. Reading one again costs 3 of 22 µs of CPU time for a request of 32 at a time (the client
    /// kit's cases h1c32 and tls1c32, November 2026).
    private var lastHead = LastHeaderBlock<HTTP1ResponseHead>()
    /// The minor version of the last final response's head: 0 or 1. 1 before the first.
    package private(set) var minorVersion = 1

    /// The lines of the current head before the one that failed; nil if the head is complete, or more bytes are needed.
    package private(set) var brokenHead: ByteBuffer?

    package init(limits: Limits = Limits()) {
        self.limits = limits
        head = HTTP1HeadReader(.responseToClient, limit: limits.headBytes)
    }

    /// The bytes of the body still to come; nil if that number is unknown or no body is expected.
    package var restOfBody: Int64? { state == .body ? body.remaining : nil }

    /// The allocated size of the buffer, in bytes.
    package var capacity: Int { buffer.storageCapacity }

    /// Begins the response to a request of this method.
    ///
    /// - Parameters:
    ///   - ignoresLength: whether to ignore Content-Length; the body then ends with the connection.
    ///   - keepsTransferCoding: whether the body is handed out as it was received, with its chunk framing and trailers.
    package mutating func expect(
        method: HTTPRequest.Method,
        ignoresLength: Bool = false,
        keepsTransferCoding: Bool = false
    ) {
        self.method = method
        self.ignoresLength = ignoresLength
        self.keepsTransferCoding = keepsTransferCoding
        informationalCount = 0
        brokenHead = nil
        state = .head
    }

    package mutating func feed(_ bytes: ByteBuffer) { buffer.feed(bytes) }

    /// The next event; nil if more bytes are needed.
    package mutating func next() throws(HTTP1Error) -> Event? {
        switch state {
        case .done:
            return nil
        case .head:
            return try nextHead()
        case .body:
            let part = try keepsTransferCoding ? body.nextUndecoded(from: &buffer) : body.next(from: &buffer)
            switch part {
            case nil: return nil
            case .content(let content): return .body(content)
            case .end(let section):
                var trailers: HTTPFields?
                if let section {
                    trailers = try HTTP1ResponseHead.trailers(section, fieldLimit: limits.fieldCount)
                }
                return finish(trailers: trailers)
            }
        }
    }

    private mutating func nextHead() throws(HTTP1Error) -> Event? {
        var raw: ByteBuffer?
        do throws(HTTP1Error) {
            // First, so that the error does not depend on how many of the bytes have arrived.
            guard beginsLikeStatusLine else { throw .malformed("it does not begin with a status line") }
            guard let head = try self.head.take(from: &buffer) else { return nil }
            raw = head.raw
            if let known = lastHead.content(of: head.raw) { return try startResponse(known, raw: head.raw) }
            let parsed = try HTTP1ResponseHead(head, fieldLimit: limits.fieldCount, isOfConnect: method == .connect)
            lastHead.note(head.raw, parsed)
            hasReadHead = true
            return try startResponse(parsed, raw: head.raw)
        } catch {
            brokenHead = HTTP1ResponseHead.usableLines(of: raw ?? buffer, fieldLimit: limits.fieldCount)
            if case .unsupportedVersion = error, hasReadHead {
                throw .malformed("the server changed the version of HTTP on the connection")
            }
            throw error
        }
    }

    private var beginsLikeStatusLine: Bool { HTTP1StatusLine.canBegin(with: buffer) }

    /// Handles the end of the connection: it ends a body without a length and is an error for other incomplete responses.
    ///
    /// - Parameter isOrderly: whether the server ended the connection. A lost connection ends no body.
    package mutating func finishAtClose(isOrderly: Bool = true) throws(HTTP1Error) -> Event? {
        switch state {
        case .done: return nil
        case .body where body.isUntilClose && isOrderly: return finish(trailers: nil)
        case .head where buffer.readableBytes == 0:
            throw .endedEarly("the server closed the connection without a response")
        case .head where !beginsLikeStatusLine: throw .malformed("it does not begin with a status line")
        case .head:
            brokenHead = HTTP1ResponseHead.usableLines(of: buffer, fieldLimit: limits.fieldCount)
            throw .endedEarly("the server closed the connection in the middle of the head")
        case .body:
            throw .endedEarly("the server closed the connection in the middle of the body")
        }
    }

    /// The bytes after a 101 head, for the protocol that took the connection over.
    package mutating func takeRest() -> ByteBuffer {
        defer { buffer = ByteBuffer() }
        return buffer
    }

    private mutating func startResponse(_ head: HTTP1ResponseHead, raw: ByteBuffer) throws(HTTP1Error) -> Event {
        var response = head.response
        let status = response.status
        if status.kind == .informational, status.code != 101 {
            informationalCount += 1
            guard informationalCount <= Self.maxInformational else {
                throw .malformed("too many informational responses, more than \(Self.maxInformational)")
            }
            state = .head
            return .informational(response, raw: raw)
        }
        if status.code == 101 || (method == .connect && status.kind == .successful) {
            // The connection is no longer HTTP.
            state = .done
            return .head(response, raw: raw, keepAlive: false)
        }
        minorVersion = head.minorVersion
        var keepAlive = head.framing.keepsConnection(minorVersion: minorVersion)
        var framing = head.framing.ofResponse(toHead: method == .head, status: status.code)
        if ignoresLength, case .length = framing { framing = .untilClose }
        state = .body
        body = HTTP1BodyReader(framing, allowsBareLineFeed: true, trailerLimit: limits.headBytes)
        if framing != .none, head.framing.hasTransferCoding {
            // A request asks for no coding in TE, so the server may use chunked only (RFC 9112 §6.1). The body would be
            // returned encoded, and the caller could not detect that.
            if let coding = head.framing.bodyCoding, !keepsTransferCoding {
                throw .unsupportedCoding(
                    "its body has the transfer coding \"\(coding.prefix(40))\", which was not requested"
                )
            }
            // A response with both fields may be response smuggling, so Content-Length must not be forwarded, and the connection
            // ends. Chunks take precedence over the length; `identity` leaves it in force. HTTP/1.0 has no transfer codings, so
            // a proxy may have framed the body differently (§6.1).
            let hasLength = head.framing.contentLength != nil
            if hasLength { response.headerFields[.contentLength] = nil }
            if hasLength || minorVersion == 0 { keepAlive = false }
        }
        if framing == .untilClose { keepAlive = false }
        return .head(response, raw: raw, keepAlive: keepAlive)
    }

    private mutating func finish(trailers: HTTPFields?) -> Event {
        state = .done
        let isLast = buffer.readableBytes == 0
        // An idle connection holds no memory, and the channel can reuse the buffer for its next read.
        if isLast { buffer = ByteBuffer() }
        return .end(trailers: trailers, isClear: isLast && !body.isAmbiguous)
    }
}
