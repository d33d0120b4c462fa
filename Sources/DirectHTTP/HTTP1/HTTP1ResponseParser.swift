// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore

/// Parses the bytes of one HTTP/1.x connection into responses (RFC 9112). Performs no I/O; memory is bounded and time is linear.
///
/// The caller feeds bytes from the socket, then takes events until there are none. Each request must be announced with
/// ``expect(method:)``, because the request's method decides whether the response has a body.
struct HTTP1ResponseParser {
    enum Event: Equatable {
        /// A 1xx response; the final one follows.
        case informational(HTTPResponse)
        /// The final response's head, and whether the connection can be reused after the response.
        case head(HTTPResponse, keepAlive: Bool)
        case body(ByteBuffer)
        case end(trailers: HTTPFields?)
    }

    private enum State: Equatable {
        case head
        case fixed(remaining: Int64)
        case chunkSize
        case chunk(remaining: Int64)
        case chunkEnd
        case trailers
        case untilClose
        /// The response is complete. Bytes that follow are unsolicited.
        case done
    }

    /// The limits of a head: its size in bytes and its number of fields.
    struct Limits {
        var headBytes = 64 * 1024
        var fieldCount = 1_000
    }

    private let limits: Limits
    private var state = State.done
    private var buffer = ByteBuffer()
    /// The number of bytes of `buffer` already searched for the end of a head. It keeps the cost of a head in many pieces linear.
    private var searched = 0
    private var method = HTTPRequest.Method.get
    private var lastHead = LastHeaderBlock<HTTP1ResponseHead>()
    private var memo = HTTP1HeadMemo()
    /// The minor version of the final response's head: 0 or 1.
    private(set) var minorVersion = 1

    init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Whether unread bytes remain after the end of the response.
    var hasUnexplainedBytes: Bool { state == .done && buffer.readableBytes > 0 }

    /// The bytes of the body still to come; nil if that number is unknown or no body is expected.
    var restOfBody: Int64? {
        if case .fixed(let remaining) = state { remaining } else { nil }
    }

    /// Begins the response to a request of this method.
    mutating func expect(method: HTTPRequest.Method) {
        self.method = method
        state = .head
        searched = 0
    }

    mutating func feed(_ bytes: ByteBuffer) {
        if buffer.readableBytes == 0 {
            buffer = bytes
        } else {
            // Release the consumed bytes. Otherwise a stream whose pieces never end at a line or frame boundary stays in memory.
            buffer.discardReadBytes()
            buffer.writeImmutableBuffer(bytes)
        }
    }

    /// The allocated size of the buffer, in bytes.
    var capacity: Int { buffer.storageCapacity }

    /// The next event; nil if more bytes are needed.
    mutating func next() throws(DirectHTTPError) -> Event? {
        while true {
            switch state {
            case .done:
                return nil
            case .head:
                guard let block = try takeBlock() else { return nil }
                if let head = lastHead.content(of: block) { return startResponse(head) }
                let head = try HTTP1HeadParser.parseResponse(block, fieldCount: limits.fieldCount, memo: &memo)
                lastHead.note(block, head)
                return startResponse(head)
            case .fixed(let remaining):
                guard let piece = takePiece(atMost: remaining) else {
                    guard remaining == 0 else { return nil }
                    return finish(trailers: nil)
                }
                state = .fixed(remaining: remaining - Int64(piece.readableBytes))
                return .body(piece)
            case .untilClose:
                return takePiece(atMost: .max).map(Event.body)
            case .chunkSize:
                guard let line = try takeLine() else { return nil }
                let size = try HTTP1HeadParser.parseChunkSize(line)
                state = size == 0 ? .trailers : .chunk(remaining: size)
                searched = 0
            case .chunk(let remaining):
                guard remaining > 0 else {
                    state = .chunkEnd
                    continue
                }
                guard let piece = takePiece(atMost: remaining) else { return nil }
                state = .chunk(remaining: remaining - Int64(piece.readableBytes))
                return .body(piece)
            case .chunkEnd:
                guard let line = try takeLine() else { return nil }
                guard line.readableBytes == 0 else {
                    throw .malformed("a chunk is longer than it says")
                }
                state = .chunkSize
            case .trailers:
                guard let block = try takeBlock() else { return nil }
                let fields = try HTTP1HeadParser.parseFields(block, fieldCount: limits.fieldCount)
                return finish(trailers: fields.isEmpty ? nil : fields)
            }
        }
    }

    /// Handles the end of the connection: it ends a body without a length and is an error for other incomplete responses.
    mutating func finishAtClose() throws(DirectHTTPError) -> Event? {
        switch state {
        case .done: return nil
        case .untilClose: return finish(trailers: nil)
        case .head where buffer.readableBytes == 0:
            throw DirectHTTPError(.connectionLost, "the server closed the connection without a response")
        case .head where !buffer.readableBytesView.starts(with: "HTTP/1.".utf8.prefix(buffer.readableBytes)):
            throw .malformed("it does not begin with a status line")
        case .head:
            throw DirectHTTPError(.connectionLost, "the server closed the connection in the middle of the head")
        default:
            throw DirectHTTPError(.connectionLost, "the server closed the connection in the middle of the body")
        }
    }

    /// The bytes after a 101 head, for the protocol that took the connection over.
    mutating func takeRest() -> ByteBuffer {
        defer { buffer = ByteBuffer() }
        return buffer
    }

    private mutating func startResponse(_ head: HTTP1ResponseHead) -> Event {
        let status = head.response.status
        if status.kind == .informational, status.code != 101 {
            return .informational(head.response)
        }
        if status.code == 101 || (method == .connect && status.kind == .successful) {
            // The connection is no longer HTTP.
            state = .done
            return .head(head.response, keepAlive: false)
        }
        minorVersion = head.minorVersion
        var keepAlive = head.keepAlive && !head.isClosing
        var response = head.response
        // RFC 9112 §6.3, rules 1 to 8, in that order.
        if method == .head || status.code == 204 || status.code == 304 {
            state = .fixed(remaining: 0)
        } else if head.hasTransferCoding {
            state = head.isChunked ? .chunkSize : .untilClose
            // A response with both fields may be response smuggling: Transfer-Encoding takes precedence, and Content-Length must
            // not be forwarded. HTTP/1.0 has no transfer codings, so a proxy may have framed the body differently (§6.1).
            if head.contentLength != nil { response.headerFields[.contentLength] = nil }
            if head.contentLength != nil || !head.isChunked || minorVersion == 0 { keepAlive = false }
        } else if let length = head.contentLength {
            state = .fixed(remaining: length)
        } else {
            state = .untilClose
            keepAlive = false
        }
        return .head(response, keepAlive: keepAlive)
    }

    private mutating func finish(trailers: HTTPFields?) -> Event {
        state = .done
        // An idle connection holds no memory, and the channel can reuse the buffer for its next read.
        if buffer.readableBytes == 0 { buffer = ByteBuffer() }
        return .end(trailers: trailers)
    }

    private mutating func takePiece(atMost limit: Int64) -> ByteBuffer? {
        let count = Int(min(limit, Int64(buffer.readableBytes)))
        return count > 0 ? buffer.readSlice(length: count) : nil
    }

    /// A line without its line ending; nil until it is complete.
    private mutating func takeLine() throws(DirectHTTPError) -> ByteBuffer? {
        guard let end = buffer.withUnsafeReadableBytes({ $0.firstIndex(of: UInt8(ascii: "\n"), from: 0) }) else {
            guard buffer.readableBytes <= 1024 else { throw .malformed("the size of a chunk is too long") }
            return nil
        }
        var line = buffer.readSlice(length: end + 1)
        line?.dropLineEnd()
        return line
    }

    /// The offset of the empty line and the offset after it. Without an empty line, `next` is where the search resumes.
    private static func blockEnd(_ bytes: UnsafeRawBufferPointer, from: Int) -> (end: Int?, next: Int) {
        var start = from
        while let feed = bytes.firstIndex(of: UInt8(ascii: "\n"), from: start) {
            if feed == start || (feed == start + 1 && bytes[start] == UInt8(ascii: "\r")) { return (start, feed + 1) }
            start = feed + 1
        }
        return (nil, start)
    }

    /// The lines up to an empty line; nil until the block is complete. The empty line is consumed but not returned.
    private mutating func takeBlock() throws(DirectHTTPError) -> ByteBuffer? {
        let (end, next) = buffer.withUnsafeReadableBytes { bytes in Self.blockEnd(bytes, from: searched) }
        if let end {
            searched = 0
            // A complete block that ends beyond the limit is also too large.
            if next <= limits.headBytes {
                let block = buffer.readSlice(length: end)
                buffer.moveReaderIndex(forwardBy: next - end)
                return block
            }
        } else {
            searched = next
        }
        guard end == nil, buffer.readableBytes <= limits.headBytes else {
            throw DirectHTTPError(
                .responseTooLarge,
                "the response's head is larger than \(limits.headBytes) bytes; raise maximumHeadBytes if it should be"
            )
        }
        return nil
    }
}

extension DirectHTTPError {
    static func malformed(_ what: String) -> DirectHTTPError {
        DirectHTTPError(.malformedResponse, "the server's response is not HTTP: \(what)")
    }
}

extension ByteBuffer {
    fileprivate mutating func dropLineEnd() {
        moveWriterIndex(to: writerIndex - 1)
        if readableBytes > 0, getInteger(at: writerIndex - 1) == UInt8(ascii: "\r") {
            moveWriterIndex(to: writerIndex - 1)
        }
    }
}
