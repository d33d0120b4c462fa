// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOCore

/// Closes a connection of HTTP/1.1, or one that is in its TLS handshake, whose client lets a limit pass. It belongs to the
/// connection's event loop; HTTP/2 has limits of its own (`HTTP2ServerHandler.Limits`).
final class ConnectionTimer {
    private let channel: any Channel
    private let limits: HTTP2ServerHandler.Limits
    /// When the connection is to be closed; nil while a reply is made.
    private var deadline: NIODeadline?
    private var timer: Scheduled<Void>?
    private var firesAt = NIODeadline.distantFuture
    private var isQuiet = false

    init(_ channel: any Channel, _ limits: HTTP2ServerHandler.Limits) {
        self.channel = channel
        self.limits = limits
        channel.closeFuture.assumeIsolated().whenComplete { [self] _ in end() }
    }

    /// The TLS handshake begins.
    func beginHandshake(_ limit: TimeAmount) { wait(for: limit) }

    /// A request may come.
    func waitForRequest() {
        isQuiet = true
        wait(for: limits.idleTime)
    }

    /// Octets have come. The first ones begin a request, and all of it must come within the limit.
    func received() {
        guard isQuiet else { return }
        isQuiet = false
        wait(for: limits.requestTime)
    }

    /// A request has come whole. How long an answer may take is the resolver's to say.
    func beginAnswer() {
        isQuiet = false
        deadline = nil
    }

    /// A reply is written, which the client must read.
    func beginReply() { wait(for: limits.replyTime) }

    /// No limit holds any more.
    func end() {
        deadline = nil
        timer?.cancel()
        timer = nil
    }

    private func wait(for limit: TimeAmount) {
        let deadline = channel.eventLoop.now + limit
        self.deadline = deadline
        // A timer that fires too early looks again: that costs less than a new one for each request.
        guard timer == nil || firesAt > deadline else { return }
        timer?.cancel()
        plan(deadline)
    }

    private func plan(_ deadline: NIODeadline) {
        firesAt = deadline
        timer = channel.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
            timer = nil
            guard let deadline = self.deadline else { return }
            guard deadline <= channel.eventLoop.now else { return plan(deadline) }
            channel.close(mode: .all, promise: nil)
        }
    }
}

/// Tells a connection's timer that octets have come, before they are a request.
final class OctetWatch: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let timer: ConnectionTimer

    init(_ timer: ConnectionTimer) { self.timer = timer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        timer.received()
        context.fireChannelRead(data)
    }
}
