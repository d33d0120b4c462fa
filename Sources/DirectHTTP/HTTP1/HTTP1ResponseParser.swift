// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore

/// Turns the bytes of one HTTP/1.x connection into responses (RFC 9112): pure, bounded, in linear time.
///
/// The caller feeds what the socket gave, then takes events until there is none. Each request must be announced by
/// ``expect(method:)``, because the request decides whether its response has a body.
struct HTTP1ResponseParser {
    enum Event: Equatable {
        /// A 1xx response; the final one follows.
        case informational(HTTPResponse)
        /// The final response's head, and whether its connection may serve another request afterwards.
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
        /// The response is whole. Bytes that follow belong to nobody.
        case done
    }

    /// The head's limits: all of its bytes, and the number of its fields.
    struct Limits {
        var headBytes = 64 * 1024
        var fieldCount = 1_000
    }

    private let limits: Limits
    private var state = State.done
    private var buffer = ByteBuffer()
    /// How much of `buffer` was already searched for the end of a head, so that a head in many pieces costs linear time.
    private var searched = 0
    private var method = HTTPRequest.Method.get
    private var lastHead = LastHeaderBlock<HTTP1ResponseHead>()
    private var memo = HTTP1HeadMemo()
    /// The minor version of the final response's head: 0 or 1.
    private(set) var minorVersion = 1

    init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Whether bytes wait that no response explains.
    var hasUnexplainedBytes: Bool { state == .done && buffer.readableBytes > 0 }

    /// How many bytes of the body are still to come; nil where that is not known, or no body is.
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
            // Without this a stream whose pieces never end where a line or a frame does would be kept whole.
            buffer.discardReadBytes()
            buffer.writeImmutableBuffer(bytes)
        }
    }

    /// How much memory it holds.
    var capacity: Int { buffer.storageCapacity }

    /// The next event; nil where more bytes are needed.
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

    /// The peer closed: the end of a body that is ended that way, or an error.
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
            // A response with both lengths is how another one is smuggled in: the coding counts, and the length must not be
            // passed on. HTTP/1.0 has no codings, so a proxy on the way may have read the body in another way (§6.1).
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
        // A connection that rests holds no memory, and the channel can read into the same again.
        if buffer.readableBytes == 0 { buffer = ByteBuffer() }
        return .end(trailers: trailers)
    }

    private mutating func takePiece(atMost limit: Int64) -> ByteBuffer? {
        let count = Int(min(limit, Int64(buffer.readableBytes)))
        return count > 0 ? buffer.readSlice(length: count) : nil
    }

    /// A line without its end; nil until it is whole.
    private mutating func takeLine() throws(DirectHTTPError) -> ByteBuffer? {
        guard let end = buffer.withUnsafeReadableBytes({ $0.firstIndex(of: UInt8(ascii: "\n"), from: 0) }) else {
            guard buffer.readableBytes <= 1024 else { throw .malformed("the size of a chunk has no end") }
            return nil
        }
        var line = buffer.readSlice(length: end + 1)
        line?.dropLineEnd()
        return line
    }

    /// Where the empty line begins and what follows it begins; without one, where its search goes on.
    private static func blockEnd(_ bytes: UnsafeRawBufferPointer, from: Int) -> (end: Int?, next: Int) {
        var start = from
        while let feed = bytes.firstIndex(of: UInt8(ascii: "\n"), from: start) {
            if feed == start || (feed == start + 1 && bytes[start] == UInt8(ascii: "\r")) { return (start, feed + 1) }
            start = feed + 1
        }
        return (nil, start)
    }

    /// A block of lines up to an empty one; nil until it is whole. The empty line is consumed, not returned.
    private mutating func takeBlock() throws(DirectHTTPError) -> ByteBuffer? {
        let (end, next) = buffer.withUnsafeReadableBytes { bytes in Self.blockEnd(bytes, from: searched) }
        if let end {
            searched = 0
            // What ends behind the limit is too large although it is whole.
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
        DirectHTTPError(.malformedResponse, "what the server sent is not HTTP: \(what)")
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
