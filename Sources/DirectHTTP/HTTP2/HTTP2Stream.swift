// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import NIOHTTP2

/// What the connection knows of one exchange that it carries. It belongs to the event loop.
final class HTTP2Stream {
    /// Frames of a body that may be on their way before the next piece is asked for.
    static let maximumUnsentFrames = 4

    let id: HTTP2StreamID
    let exchange: Exchange
    var watch = ActivityWatch()
    var isRequestSent: Bool
    var hasHead = false
    var informationalCount = 0
    /// Frames that were written and have not left.
    var unsentFrames = 0
    var sendWaiter: ((Bool) -> Void)?
    var isStalled = false
    /// Received bytes that the peer has not been allowed to replace.
    var uncredited = 0

    /// What was read since the last delivery.
    var pendingHead: Exchange.ExchangeHead?
    var pendingPieces: [ByteBuffer] = []
    var pendingEnd: Result<HTTPFields?, DirectHTTPError>?

    init(id: HTTP2StreamID, exchange: Exchange) {
        self.id = id
        self.exchange = exchange
        switch exchange.request.body.storage {
        case .none, .bytes: isRequestSent = true
        case .file, .stream: isRequestSent = false
        }
    }

    /// Takes a header block: an informational response, the final head, or the trailers.
    func take(_ headers: HTTP2Frame.FramePayload.Headers, now: NIODeadline) throws(DirectHTTPError) {
        if hasHead {
            pendingEnd = .success(try HTTP2Headers.trailers(headers.headers))
            return
        }
        let response = try HTTP2Headers.response(headers.headers)
        if response.status.kind == .informational {
            if response.status == .continue { exchange.gate?.open() }
            informationalCount += 1
            guard informationalCount <= HTTP1Handler.maximumInformational, !headers.endStream else {
                throw .malformed("informational responses without an end")
            }
            return
        }
        hasHead = true
        exchange.gate?.refuse()
        pendingHead = Exchange.ExchangeHead(response: response, firstByte: now)
        if headers.endStream { pendingEnd = .success(nil) }
    }

    func take(_ data: HTTP2Frame.FramePayload.Data) throws(DirectHTTPError) {
        guard hasHead else { throw .malformed("a body stands before its head") }
        if case .byteBuffer(let bytes) = data.data {
            uncredited += bytes.readableBytes
            if bytes.readableBytes > 0 { pendingPieces.append(bytes) }
        }
        if data.endStream { pendingEnd = .success(nil) }
    }

    /// Hands over what was read. Returns whether the exchange is over.
    func deliver() -> Bool {
        guard pendingHead != nil || !pendingPieces.isEmpty || pendingEnd != nil else { return false }
        let (head, pieces, end) = (pendingHead, pendingPieces, pendingEnd)
        pendingHead = nil
        pendingPieces.removeAll(keepingCapacity: true)
        pendingEnd = nil
        isStalled = !exchange.deliver(head: head, pieces: pieces, end: end)
        guard end != nil else { return false }
        sendWaiter.take()?(false)
        return true
    }
}
