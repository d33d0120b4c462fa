// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore

/// The handler's state of one exchange. Confined to the event loop.
final class HTTP2Stream {
    /// The bytes of a body that may wait for the peer's window or the socket before the next piece is requested.
    static let maxUnsent = 64 * 1024

    let id: UInt32
    let exchange: Exchange
    var watch = ActivityWatch()

    // MARK: The request

    /// Whether the response arrived instead of `100 Continue`. The body is not sent.
    private(set) var isBodyRefused = false
    /// Resumes the task that sends the body. When the stream ends, it is called after the exchange was notified.
    var sendWaiter: ((Bool) -> Void)?
    /// The handler's ``HTTP2Handler/sentMark`` after the last frame of the request.
    var sentMark: Int64 = 0

    // MARK: The response

    var hasHead = false
    /// Whether the server may read the rest of the request's body after its response, because it accepted the request.
    private(set) var mayReadBody = false
    var isStalled = false

    /// The parts of the response read since the last delivery.
    private var pendingHead: Shared<Exchange.ExchangeHead>?
    private var pendingPieces: [ByteBuffer] = []
    var pendingEnd: Result<HTTPFields?, DirectHTTPError>?
    /// Whether ``pendingEnd`` waits until the whole request is written, because the response was complete before.
    var isEndHeld = false
    /// Whether the stream is in the handler's list of streams with data to deliver.
    var isTouched = false

    init(id: UInt32, exchange: Exchange) {
        self.id = id
        self.exchange = exchange
    }

    var hasBody: Bool { exchange.request.framing != .none && exchange.request.framing != .length(0) }

    /// Whether the request has a body, and the server has not begun to respond or has nothing else to send.
    var isUploading: Bool { hasBody && (!hasHead || isEndHeld) }

    func take(_ response: HTTPResponse, endStream: Bool, now: NIODeadline) {
        hasHead = true
        mayReadBody = response.status.code < 300
        if response.status.code >= 300 { refuseBody() }
        pendingHead = Shared(Exchange.ExchangeHead(response: response, firstByte: now))
        if endStream { pendingEnd = .success(nil) }
    }

    func take(_ piece: ByteBuffer, endStream: Bool) {
        if piece.readableBytes > 0 { pendingPieces.append(piece) }
        if endStream { pendingEnd = .success(nil) }
    }

    /// Does not send a body that still waits for 100 Continue.
    func refuseBody() {
        guard exchange.gate?.refuse() == true else { return }
        isBodyRefused = true
        mayReadBody = false
    }

    /// Delivers the pending parts of the response to the exchange.
    func deliver(now: NIODeadline, _ wakes: WakeQueue) {
        let end = isEndHeld ? nil : pendingEnd
        guard pendingHead != nil || !pendingPieces.isEmpty || end != nil else { return }
        isStalled = !exchange.deliver(head: pendingHead, pieces: pendingPieces, end: end, now: now, wakes: wakes)
        pendingHead = nil
        pendingPieces.removeAll(keepingCapacity: true)
        guard end != nil else { return }
        pendingEnd = nil
        sendWaiter.take()?(false)
    }
}
