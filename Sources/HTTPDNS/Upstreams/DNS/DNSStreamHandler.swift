// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import NIOTLS

/// Frames messages by length (RFC 1035 §4.2.2) and matches responses to queries by ID, in any order.
final class DNSStreamHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Succeeds after the TLS handshake, fails if it fails; nil without TLS.
    private let secured: EventLoopPromise<Void>?
    private let silence: TimeAmount
    /// Counts the answers of all connections.
    private let answers: NIOLockedValueBox<Int>
    private var context: ChannelHandlerContext?
    /// The time of the last read.
    private var lastRead = NIODeadline.uptimeNanoseconds(0)
    private var received = ByteBuffer()
    private var pending: [UInt16: EventLoopPromise<[UInt8]>] = [:]
    private var idle: Scheduled<Void>?

    init(
        secured: EventLoopPromise<Void>?,
        silence: TimeAmount,
        answers: NIOLockedValueBox<Int> = NIOLockedValueBox(0)
    ) {
        self.secured = secured
        self.silence = silence
        self.answers = answers
    }

    /// Sends a query with an unused ID.
    func ask(_ make: (UInt16) -> [UInt8], promise: EventLoopPromise<[UInt8]>) {
        guard let context, context.channel.isActive else {
            return promise.fail(UpstreamError(.unreachable, "the connection was closed"))
        }
        guard pending.count < DNSStream.maxPending else {
            return promise.fail(UpstreamError(.busy, "\(DNSStream.maxPending) queries wait on this connection already"))
        }
        var id = UInt16.random(in: .min ... .max)
        while pending[id] != nil { id &+= 1 }
        let query = make(id)
        idle?.cancel()
        idle = nil
        pending[id] = promise
        // A cancelled query must release its ID.
        let sent = context.eventLoop.now
        promise.futureResult.assumeIsolated().whenFailure { _ in
            self.pending[id] = nil
            self.giveUpIfSilent(since: sent)
            self.watchIdle()
        }
        var frame = context.channel.allocator.buffer(capacity: query.count + 2)
        frame.writeInteger(UInt16(query.count))
        frame.writeBytes(query)
        context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        end(UpstreamError(.unreachable, "the connection was closed"))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var part = unwrapInboundIn(data)
        received.writeBuffer(&part)
        lastRead = context.eventLoop.now
        while let length = received.getInteger(at: received.readerIndex, as: UInt16.self),
            received.readableBytes >= 2 + Int(length)
        {
            received.moveReaderIndex(forwardBy: 2)
            guard let message = received.readBytes(length: Int(length)), message.count >= 2 else { continue }
            // Ignore unmatched responses, such as late ones.
            guard let promise = pending.removeValue(forKey: message.number(at: 0)) else { continue }
            answers.withLockedValue { $0 += 1 }
            promise.succeed(message)
        }
        received.discardReadBytes()
        watchIdle()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(UpstreamError(.unreachable, "the connection was closed"))
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted = event as? TLSUserEvent { secured?.succeed() }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        secured?.fail(error)
        end(error)
        context.close(promise: nil)
    }

    private func end(_ error: any Error) {
        secured?.fail(error)
        idle?.cancel()
        let waiting = pending.values
        pending = [:]
        for promise in waiting { promise.fail(error) }
    }

    /// Closes the connection if a query failed and nothing has arrived for `silence`. The peer may be gone without a
    /// reset, and each further query would time out too.
    private func giveUpIfSilent(since sent: NIODeadline) {
        guard let context, context.eventLoop.now - max(sent, lastRead) >= silence else { return }
        context.close(promise: nil)
    }

    private func watchIdle() {
        guard pending.isEmpty, idle == nil, let context else { return }
        let channel = context.channel
        idle = context.eventLoop.scheduleTask(in: DNSStream.idleLimit) { channel.close(promise: nil) }
    }
}
