// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOCore

/// Closes an HTTP/1.1 connection, or a connection during its TLS handshake, when the client exceeds a time limit. Confined to the
/// connection's event loop. HTTP/2 enforces its own limits (`HTTP2ServerHandler`).
final class ConnectionTimer {
    private let channel: any Channel
    private let configuration: ServerConfiguration
    /// When the connection will be closed. Nil while an answer is prepared.
    private var deadline: NIODeadline?
    private var timer: Scheduled<Void>?
    private var firesAt = NIODeadline.distantFuture
    private var isQuiet = false

    init(_ channel: any Channel, _ configuration: ServerConfiguration) {
        self.channel = channel
        self.configuration = configuration
        channel.closeFuture.assumeIsolated().whenComplete { [self] _ in end() }
    }

    func beginHandshake(_ limit: TimeAmount) { wait(for: limit) }

    /// Starts the idle limit, which ends when a request arrives.
    func waitForRequest() {
        isQuiet = true
        wait(for: TimeAmount(limit: configuration.idleTimeout))
    }

    /// Starts the time limit of a request when its first octets arrive.
    func received() { if isQuiet { beginRequest() } }

    /// Starts the time limit of a request that has arrived partially.
    func beginRequest() {
        isQuiet = false
        wait(for: TimeAmount(limit: configuration.requestTimeout))
    }

    /// Suspends the limits after a complete request. The resolver limits the time of the answer.
    func beginAnswer() {
        isQuiet = false
        deadline = nil
    }

    /// Starts the time limit for the client to read a reply.
    func beginReply() { wait(for: TimeAmount(limit: configuration.replyTimeout)) }

    /// Removes all limits.
    func end() {
        deadline = nil
        timer?.cancel()
        timer = nil
    }

    private func wait(for limit: TimeAmount) {
        let deadline = channel.eventLoop.now + limit
        self.deadline = deadline
        // A timer that fires too early checks the deadline again. That is cheaper than a new timer for each request.
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

/// Reports incoming octets to the connection's timer before they form a complete request.
final class OctetWatch: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let timer: ConnectionTimer

    init(_ timer: ConnectionTimer) { self.timer = timer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        timer.received()
        context.fireChannelRead(data)
    }
}
