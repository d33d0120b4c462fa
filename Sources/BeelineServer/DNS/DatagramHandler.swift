// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOCore
import Names

/// Answers the datagrams of one UDP socket.
///
/// Answers that are known are sent at once. Questions that need an upstream are started a few at a time: a flood of
/// them must not delay reads, because the system drops datagrams that it cannot buffer, cached names included.
final class DatagramHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias OutboundOut = AddressedEnvelope<ByteBuffer>

    /// A question that needs an upstream, without its datagram, which shares a buffer with others of the same read.
    private struct Held {
        let peer: SocketAddress
        let answer: @Sendable () async -> [UInt8]
    }

    private let service: DNSService
    /// The questions that are not started yet, at most ``DNSServerConfiguration/maxPendingQuestions``.
    private var held = CircularBuffer<Held>()
    /// The number of datagrams since the end of the last read.
    private var count = 0
    private var pace = LookupPace()
    private var timer: Scheduled<Void>?
    /// The time until the timer. It doubles while the loop is busy.
    private var pause = DatagramHandler.minPause

    /// The largest query to read, in octets. A larger query is cut, which makes it malformed.
    static let maxQuery = 2_048
    private static let minPause = TimeAmount.milliseconds(2)
    /// After a pause of this length, questions are started in any case.
    private static let maxPause = TimeAmount.milliseconds(256)

    init(_ service: DNSService) {
        self.service = service
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        count += 1
        // Close the socket; a check binds it again.
        guard count <= LookupPace.maxRead else { return context.close(promise: nil) }
        let envelope = unwrapInboundIn(data)
        let peer = envelope.remoteAddress
        // No client can receive a reply at port 0, so the source is forged.
        guard let source = Endpoint(peer), source.port > 0 else { return }
        let client = source.address.unmapped
        let now = NIODeadline.now()
        let isFlooded = pace.isFlooded(held: held.count, at: now)
        let octets = Array(envelope.data.readableBytesView)
        let handling = service.handle(octets, from: client, .udp, now: now, isFlooded: isFlooded)
        switch handling {
        case .silence: return
        case .reply(let octets): write(octets, to: peer, context: context)
        case .later(let answer, true): held.append(Held(peer: peer, answer: answer))
        case .later(let answer, false): start(Held(peer: peer, answer: answer), context)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
        pace.readEnded(datagrams: count, at: .now())
        count = 0
        startHeld(context)
    }

    // The held questions are counted as waiting, so answer them although the replies cannot be sent any more.
    func channelInactive(context: ChannelHandlerContext) {
        startHeld(context)
        context.fireChannelInactive()
    }

    /// Starts a few of the held questions, and the others later.
    private func startHeld(_ context: ChannelHandlerContext) {
        for _ in 0..<pace.starts(held: held.count, at: .now()) {
            guard let next = held.popFirst() else { break }
            start(next, context)
        }
        if !held.isEmpty, timer == nil { startLater(context) }
    }

    private func startLater(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let due = context.eventLoop.now + pause
        timer = context.eventLoop.scheduleTask(deadline: due) {
            let (handler, context) = bound.value
            handler.timer = nil
            // A loop reads no socket while tasks are due. If this task is late, the loop was busy for the whole pause.
            // Wait again, so that the loop finishes its work and reads first.
            if context.eventLoop.now - due > handler.pause, handler.pause < Self.maxPause {
                handler.pause = handler.pause * 2
                return handler.startLater(context)
            }
            handler.pause = Self.minPause
            handler.startHeld(context)
        }
    }

    private func start(_ question: Held, _ context: ChannelHandlerContext) {
        let loop = context.eventLoop
        let bound = NIOLoopBound((self, context), eventLoop: loop)
        _ = ServerService.task(on: loop) { [service] in
            let octets = await question.answer()
            loop.execute {
                let (handler, context) = bound.value
                handler.write(octets, to: question.peer, context: context)
                context.flush()
                service.finishQuestion()
            }
        }
    }

    /// Sends a reply. If the socket is full, drops it, as any datagram may be: a queue would have no bound.
    private func write(_ octets: [UInt8], to peer: SocketAddress, context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        // The replies to the queries of one read may exceed the buffer.
        if !context.channel.isWritable { context.flush() }
        guard context.channel.isWritable else { return service.dropped() }
        let buffer = context.channel.allocator.buffer(bytes: octets)
        context.write(wrapOutboundOut(AddressedEnvelope(remoteAddress: peer, data: buffer)), promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // An ICMP error, for example because a client has closed its socket. This socket stays open.
    }
}
