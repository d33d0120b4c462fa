// SPDX-License-Identifier: Apache-2.0

import DequeModule
import HTTPWire
import NIOCore

/// The queued messages, sent frame by frame, so that control frames can go in between (RFC 6455 §5.4).
struct WebSocketOutbox {
    struct Message {
        var opcode: WebSocketFrame.Opcode
        var isCompressed: Bool
        var payload: ByteBuffer
        let written: EventLoopPromise<Void>
    }

    private let frameBytes: Int
    private var messages = Deque<Message>()

    /// - Parameter frameBytes: the largest payload of a frame, at least 1.
    init(frameBytes: Int) { self.frameBytes = max(1, frameBytes) }

    mutating func add(_ message: Message) { messages.append(message) }

    /// The next frame, and the promise of its message if it is the last one; nil if the queue is empty.
    mutating func nextFrame() -> (WebSocketFrame, written: EventLoopPromise<Void>?)? {
        guard var message = messages.popFirst() else { return nil }
        let length = min(message.payload.readableBytes, frameBytes)
        let piece = message.payload.readSlice(length: length) ?? ByteBuffer()
        let isFinal = message.payload.readableBytes == 0
        let frame = WebSocketFrame(
            opcode: message.opcode,
            isFinal: isFinal,
            isCompressed: message.isCompressed,
            payload: piece
        )
        guard !isFinal else { return (frame, message.written) }
        message.opcode = .continuation
        message.isCompressed = false
        messages.prepend(message)
        return (frame, nil)
    }

    /// Removes the messages whose last frame was not taken.
    mutating func removeAll() -> [Message] {
        defer { messages = [] }
        return Array(messages)
    }
}
