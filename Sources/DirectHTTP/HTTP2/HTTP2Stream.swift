// SPDX-License-Identifier: Apache-2.0

import DequeModule
import HTTPTypes
import NIOCore

/// What the connection knows of one exchange that it carries. It belongs to the event loop.
final class HTTP2Stream {
    /// Bytes of a body that may wait for the peer's window or for the socket before the next piece is asked for.
    static let maximumUnsent = 64 * 1024

    let id: UInt32
    let exchange: Exchange
    var watch = ActivityWatch()

    // MARK: The request

    /// Whether the last byte of the request's body was given; what is in ``unsent`` is still to go.
    var isBodyWhole: Bool
    /// Whether the response came instead of `100 Continue`: no piece of the body follows.
    private var isBodyRefused = false
    /// Whether END_STREAM was written.
    var isRequestSent = false
    /// What the peer lets us send (RFC 9113 §5.2). A change of SETTINGS may make it negative.
    var sendWindow: Int
    var unsent = Deque<ByteBuffer>()
    var unsentBytes = 0
    /// Whether it stands in the connection's queue of streams that have something to send.
    var isQueued = false
    /// Who waits to give the next piece of the body; resumed by whatever ends the stream, after its exchange has heard of that.
    var sendWaiter: ((Bool) -> Void)?

    // MARK: The response

    var hasHead = false
    private var informationalCount = 0
    /// What is left of Content-Length; nil where none was told or the response has no body.
    private(set) var restOfBody: Int64?
    var isStalled = false
    var receiveWindow: HTTP2ReceiveWindow

    /// What was read since the last delivery.
    private var pendingHead: Shared<Exchange.ExchangeHead>?
    private var pendingPieces: [ByteBuffer] = []
    var pendingEnd: Result<HTTPFields?, DirectHTTPError>?
    /// Whether it stands in the connection's list of streams that have something to deliver.
    var isTouched = false

    init(id: UInt32, exchange: Exchange, sendWindow: Int, receiveWindow: Int) {
        self.id = id
        self.exchange = exchange
        self.sendWindow = sendWindow
        self.receiveWindow = HTTP2ReceiveWindow(receiveWindow)
        switch exchange.request.body.storage {
        case .none:
            isBodyWhole = true
        case .bytes(let bytes):
            isBodyWhole = true
            if bytes.readableBytes > 0 { append(bytes) }
        case .file, .stream:
            isBodyWhole = false
        }
    }

    /// Whether the next piece of the request's body is what is missing, for which the peer is not blamed.
    var waitsForBody: Bool { !isBodyWhole && unsent.isEmpty && !isBodyRefused }

    func append(_ piece: ByteBuffer) {
        unsent.append(piece)
        unsentBytes += piece.readableBytes
    }

    /// Takes a header block: an informational response, the final head, or the trailers.
    func take(_ block: HTTP2Headers.Received, endStream: Bool, now: NIODeadline) throws(DirectHTTPError) {
        guard pendingEnd == nil else { throw .malformed("frames follow the end of the stream") }
        if hasHead {
            guard endStream else { throw .malformed("a second head stands in the body") }
            let trailers = try block.trailers()
            try checkLength()
            pendingEnd = .success(trailers.isEmpty ? nil : trailers)
            return
        }
        let response = try block.response()
        // Read once: HTTPResponse keeps a status as text.
        let status = response.status
        if status.kind == .informational {
            if status == .continue { exchange.gate?.open() }
            informationalCount += 1
            guard informationalCount <= HTTP1Handler.maximumInformational, !endStream, status.code != 101
            else {
                throw .malformed("informational responses without an end")
            }
            return
        }
        hasHead = true
        // RFC 9113 §8.1.1: DATA must be as long as Content-Length says, where the response can have a body.
        let hasBody = exchange.request.method != .head && status.code != 204 && status.code != 304
        restOfBody = hasBody ? block.contentLength : 0
        if exchange.gate?.refuse() == true { isBodyRefused = true }
        pendingHead = Shared(Exchange.ExchangeHead(response: response, firstByte: now))
        if endStream { try end() }
    }

    func take(_ piece: ByteBuffer, endStream: Bool) throws(DirectHTTPError) {
        guard hasHead else { throw .malformed("a body stands before its head") }
        guard pendingEnd == nil else { throw .malformed("frames follow the end of the stream") }
        if let expected = restOfBody {
            guard piece.readableBytes <= expected else { throw .malformed("the body is longer than Content-Length") }
            restOfBody = expected - Int64(piece.readableBytes)
        }
        if piece.readableBytes > 0 { pendingPieces.append(piece) }
        if endStream { try end() }
    }

    private func end() throws(DirectHTTPError) {
        try checkLength()
        pendingEnd = .success(nil)
    }

    private func checkLength() throws(DirectHTTPError) {
        guard restOfBody ?? 0 == 0 else {
            throw .malformed("the body is shorter than Content-Length")
        }
    }

    /// Hands over what was read.
    func deliver(now: NIODeadline, _ wakes: WakeQueue) {
        guard pendingHead != nil || !pendingPieces.isEmpty || pendingEnd != nil else { return }
        let isLast = pendingEnd != nil
        isStalled = !exchange.deliver(
            head: pendingHead,
            pieces: pendingPieces,
            end: pendingEnd,
            now: now,
            wakes: wakes
        )
        pendingHead = nil
        pendingPieces.removeAll(keepingCapacity: true)
        pendingEnd = nil
        if isLast { sendWaiter.take()?(false) }
    }
}
