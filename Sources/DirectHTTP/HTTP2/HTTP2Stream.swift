// SPDX-License-Identifier: Apache-2.0

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

    /// Whether the response came instead of `100 Continue`: no piece of the body follows.
    private(set) var isBodyRefused = false
    /// Who waits to give the next piece of the body; resumed by whatever ends the stream, after its exchange has heard of that.
    var sendWaiter: ((Bool) -> Void)?

    // MARK: The response

    var hasHead = false
    var isStalled = false

    /// What was read since the last delivery.
    private var pendingHead: Shared<Exchange.ExchangeHead>?
    private var pendingPieces: [ByteBuffer] = []
    var pendingEnd: Result<HTTPFields?, DirectHTTPError>?
    /// Whether it stands in the connection's list of streams that have something to deliver.
    var isTouched = false

    init(id: UInt32, exchange: Exchange) {
        self.id = id
        self.exchange = exchange
    }

    /// Whether a body was sent, or is being sent, and nothing was answered yet.
    var isUploading: Bool { !hasHead && exchange.request.framing != .none && exchange.request.framing != .length(0) }

    func take(_ response: HTTPResponse, endStream: Bool, now: NIODeadline) {
        hasHead = true
        if exchange.gate?.refuse() == true { isBodyRefused = true }
        pendingHead = Shared(Exchange.ExchangeHead(response: response, firstByte: now))
        if endStream { pendingEnd = .success(nil) }
    }

    func take(_ piece: ByteBuffer, endStream: Bool) {
        if piece.readableBytes > 0 { pendingPieces.append(piece) }
        if endStream { pendingEnd = .success(nil) }
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
