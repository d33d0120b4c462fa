// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOCore
import NIOTLS
import Names

/// Answers the messages of one TCP or TLS connection (RFC 7766), each as soon as its reply is known.
final class StreamHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The life of the connection, in order.
    private enum Phase: Comparable {
        case open
        /// The client has sent its last question. It may still read (RFC 9293 §3.6).
        case inputEnded
        /// No further questions are answered. The connection closes after the waiting ones.
        case ending
        /// The connection closes as soon as its replies are written.
        case closing
    }

    private let service: DNSService
    private let client: IPAddress
    private let transport: DNSService.Transport
    private var phase = Phase.open
    /// The octets of questions that are not answered yet.
    private(set) var received = ByteBuffer()
    private var waiting = 0
    /// Whether received questions are being answered. Flushing may call the handler again.
    private var isAnswering = false
    /// The octets of replies since the last flush. TLS does not count them for `isWritable`.
    private var unflushed = 0
    /// Whether `read` was held back because of too many questions or unread replies.
    private var hasHeldRead = false
    private var timer: Scheduled<Void>?
    /// The time of the last question or reply.
    private var lastUse = NIODeadline.now()

    init(_ service: DNSService, client: IPAddress, _ transport: DNSService.Transport) {
        self.service = service
        self.client = client
        self.transport = transport
    }

    /// Replies are flushed when they have this many octets.
    private static let maxUnflushed = 65_536
    /// The octets of replies that the socket may hold back. With more, the connection is closed.
    private static let maxUnread = 1 << 20

    func handlerAdded(context: ChannelHandlerContext) {
        if transport == .tcp { try? context.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true) }
        lastUse = context.eventLoop.now
        watch(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        enter(.closing)
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // A connection that ends answers no further questions, and must not keep them.
        guard phase < .ending else { return }
        var part = unwrapInboundIn(data)
        received.writeBuffer(&part)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        answerReceived(context)
        hold(context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        resume(context)
        closeAfterLastReply(context)
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event {
            enter(.inputEnded)
            closeAfterLastReply(context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// Closes the connection when the pending replies are sent.
    func finish(_ channel: any Channel) {
        guard let context = try? channel.pipeline.syncOperations.context(handler: self) else { return }
        enter(.ending)
        closeAfterLastReply(context)
    }

    private func enter(_ next: Phase) { phase = max(phase, next) }

    /// Closes the connection when its replies are written, if it ends or the client has sent its last question.
    private func closeAfterLastReply(_ context: ChannelHandlerContext) {
        guard phase == .ending || phase == .inputEnded && !hasWholeMessage, waiting == 0, !isAnswering else { return }
        enter(.closing)
        // TLS delays even an empty write until its handshake is complete.
        guard context.channel.unwrittenBytes > 0 else { return context.close(promise: nil) }
        // An empty write is done after those before it.
        context.writeAndFlush(wrapOutboundOut(ByteBuffer())).assumeIsolated().whenComplete { _ in
            context.close(promise: nil)
        }
    }

    private var mayRead: Bool { waiting < service.configuration.questionsPerConnection }

    /// Answers the received questions until too many wait or the client does not read its replies.
    private func answerReceived(_ context: ChannelHandlerContext) {
        guard !isAnswering else { return }
        isAnswering = true
        repeat {
            while unflushed < Self.maxUnflushed, let message = nextMessage(context) { handle(message, context) }
            flush(context)
            // Flushing usually makes room for further replies.
        } while hasMessage(context)
        received.discardReadBytes()
        isAnswering = false
        closeAfterLastReply(context)
    }

    /// Whether a whole message was received that may be answered now.
    private func hasMessage(_ context: ChannelHandlerContext) -> Bool {
        mayRead && context.channel.isWritable && phase < .ending && hasWholeMessage
    }

    private var hasWholeMessage: Bool {
        received.getLengthPrefixedSlice(at: received.readerIndex, as: UInt16.self) != nil
    }

    private func nextMessage(_ context: ChannelHandlerContext) -> [UInt8]? {
        guard hasMessage(context), let message = received.readLengthPrefixedSlice(as: UInt16.self) else { return nil }
        lastUse = context.eventLoop.now
        return Array(message.readableBytesView)
    }

    private func flush(_ context: ChannelHandlerContext) {
        unflushed = 0
        context.flush()
    }

    private func handle(_ message: [UInt8], _ context: ChannelHandlerContext) {
        switch service.handle(message, from: client, transport, now: .now()) {
        // The source of a connection is not forged. Close it, so that the client does not wait for a reply.
        case .silence: enter(.ending)
        case .reply(let octets): write(octets, context)
        case .later(let wait, _):
            waiting += 1
            let loop = context.eventLoop
            let bound = NIOLoopBound((self, context), eventLoop: loop)
            _ = ServerService.task(on: loop) { [service] in
                let octets = await wait()
                loop.execute {
                    let (handler, context) = bound.value
                    handler.answered(octets, context)
                    service.finishQuestion()
                }
            }
        }
    }

    private func answered(_ octets: [UInt8], _ context: ChannelHandlerContext) {
        waiting -= 1
        guard context.channel.isActive else { return }
        // Many questions may wait when a client stops reading. A server may close at any time (RFC 7766 §6.2.4).
        guard context.channel.unwrittenBytes <= Self.maxUnread else {
            enter(.closing)
            return context.close(promise: nil)
        }
        write(octets, context)
        // Before the flush, which may close the connection.
        if waiting == 0, timer == nil { watch(context) }
        flush(context)
        resume(context)
        closeAfterLastReply(context)
    }

    private func write(_ octets: [UInt8], _ context: ChannelHandlerContext) {
        guard context.channel.isActive, let length = UInt16(exactly: octets.count) else { return }
        lastUse = context.eventLoop.now
        var frame = context.channel.allocator.buffer(capacity: octets.count + 2)
        frame.writeInteger(length)
        frame.writeBytes(octets)
        unflushed += frame.readableBytes
        context.write(wrapOutboundOut(frame), promise: nil)
    }

    // MARK: Bounds

    /// Stops reading while too many questions wait or the client does not read its replies.
    private func hold(_ context: ChannelHandlerContext) {
        guard !hasHeldRead, !mayRead || !context.channel.isWritable else { return }
        hasHeldRead = true
        context.channel.setOption(.autoRead, value: false).whenFailure { _ in }
    }

    private func resume(_ context: ChannelHandlerContext) {
        guard hasHeldRead, mayRead, context.channel.isWritable, phase < .ending, !isAnswering else { return }
        // Answer the questions that were received before reading stopped.
        answerReceived(context)
        guard mayRead, context.channel.isWritable else { return }
        hasHeldRead = false
        context.channel.setOption(.autoRead, value: true).whenFailure { _ in }
    }

    /// Closes an idle connection. While questions wait for their answers, it is not idle (RFC 7766 §3).
    private func watch(_ context: ChannelHandlerContext) {
        let idle = TimeAmount(limit: service.configuration.idleTimeout)
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(deadline: lastUse + idle) {
            let (handler, context) = bound.value
            guard handler.waiting == 0 else { return handler.timer = nil }
            if context.eventLoop.now - handler.lastUse >= idle { return context.close(promise: nil) }
            handler.watch(context)
        }
    }
}
