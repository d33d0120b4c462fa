// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOCore
import Names

/// Receives the events of a socket. All methods run on the event loop.
protocol WireOwner: AnyObject {
    func received(_ bytes: ByteBuffer, from wire: Wire)
    /// The current read is complete, so pending writes can be flushed.
    func receivedAll(from wire: Wire)
    /// The peer has ended its output; it may still read.
    func inputEnded(of wire: Wire)
    /// The socket's writability changed; see ``Wire/isWritable``.
    func writabilityChanged(of wire: Wire)
    func closed(_ wire: Wire)
    /// Called periodically to check time limits.
    func check(_ wire: Wire, now: NIODeadline)
}

/// A socket of the proxy; the only handler of its channel. It tracks activity, writes and flow control. Its owner processes the
/// bytes, and changes over the socket's lifetime: from a request to a tunnel, or from an exchange to the pool.
final class Wire: ChannelInboundHandler, ChannelOutboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The owner of the socket. Closing the socket clears it, which breaks reference cycles; a closed socket accepts no owner.
    var owner: (any WireOwner)? { didSet { if isGone, owner != nil { owner = nil } } }
    private(set) var isInputEnded = false
    private var isOutputEnded = false
    private(set) var lastActivity: NIODeadline
    /// The time of the last received bytes, or of the last ``resume()``.
    private(set) var lastRead: NIODeadline
    /// Whether the connection failed before the peer ended its output: by a reset, ours too, or by TLS without close_notify.
    private(set) var hasFailed = false
    /// Whether the connection was authenticated by a client's login, so that no other client may use it.
    var isTied = false
    /// The engine's epoch when a connection to an origin was dialled. The pool keeps no connection of an earlier epoch.
    var epoch = 0
    /// Whether each direction can end separately. False with TLS.
    let halfCloses: Bool
    /// The server that counts the client's socket; nil for sockets to origins.
    private var server: ProxyLoop?
    private var context: ChannelHandlerContext?
    private var isGone = false
    private(set) var isPaused = false
    private var wantsRead = false
    private var isClosing = false
    /// The time limit for the peer to read the last bytes before the socket is closed.
    private var lastCall: Scheduled<Void>?
    /// Whether the socket closes with a reset as soon as the peer has received all written bytes.
    private var resetsAfterDelivery = false
    private var written: Int64 = 0
    /// The number of pieces written since all of them were known to be sent.
    private var pieces = 0
    private var hasManyPieces = false
    private static let maxPieces = 1024
    /// The number of bytes sent or received by the peer, and the time since that number has not changed.
    private var stall: (sent: Int64, since: NIODeadline)?
    /// The number of bytes that the peer had not received at the last call of ``noteDelivery(now:)``.
    private var undelivered = 0
    /// How often the time limit for the last bytes starts again because the peer received some.
    static let maxExtensions = 30
    /// The address under which the socket is counted; nil for sockets to origins.
    let countsFor: IPAddress?
    /// The bytes that the peer of a channel has not received. Tests replace it.
    private let unacknowledgedBytes: (any Channel) -> Int?

    /// - Parameters:
    ///   - server: informed when a client's socket closes; nil for a socket to an origin.
    ///   - client: the address under which the socket is counted.
    ///   - unacknowledgedBytes: the bytes that the peer of a channel has not received; nil if unknown.
    init(
        now: NIODeadline,
        halfCloses: Bool = true,
        of server: ProxyLoop? = nil,
        client: IPAddress? = nil,
        unacknowledgedBytes: @escaping (any Channel) -> Int? = { $0.unacknowledgedBytes }
    ) {
        self.unacknowledgedBytes = unacknowledgedBytes
        lastActivity = now
        lastRead = now
        self.halfCloses = halfCloses
        self.server = server
        countsFor = client
    }

    var isOpen: Bool { context != nil && !isClosing }
    /// Whether the socket accepts more bytes. Pieces are limited too: each holds a buffer that may be much larger.
    var isWritable: Bool { (context?.channel.isWritable ?? false) && !hasManyPieces }

    var waitingBytes: Int { context?.channel.unwrittenBytes ?? 0 }

    /// Whether bytes have waited for `limit` without the peer reading any. Must be called periodically.
    func isStalled(for limit: TimeAmount, now: NIODeadline) -> Bool {
        isStalled(waiting: waitingBytes, for: limit, now: now)
    }

    /// Whether the peer has received none of the last bytes for `limit`. Must be called periodically.
    func isDeliveryStalled(for limit: TimeAmount, now: NIODeadline) -> Bool {
        isStalled(waiting: undeliveredBytes, for: limit, now: now)
    }

    private func isStalled(waiting: Int, for limit: TimeAmount, now: NIODeadline) -> Bool {
        guard waiting > 0 else {
            stall = nil
            return false
        }
        let sent = written &- Int64(waiting)
        guard let stall, stall.sent == sent else {
            stall = (sent, now)
            return false
        }
        return now - stall.since >= limit
    }

    /// Whether the peer has received all written bytes, as far as the system knows it.
    var hasDelivered: Bool { undeliveredBytes == 0 }

    /// Counts as activity that the peer has received bytes since the last call. Must be called periodically.
    func noteDelivery(now: NIODeadline) {
        let bytes = undeliveredBytes
        if bytes != undelivered { lastActivity = now }
        undelivered = bytes
    }

    /// The number of bytes that the peer has not received, as far as the system knows it.
    private var undeliveredBytes: Int { context.flatMap { unacknowledgedBytes($0.channel) } ?? waitingBytes }

    // MARK: For the owner

    func write(_ bytes: ByteBuffer) {
        guard !isClosing else { return }
        written &+= Int64(bytes.readableBytes)
        pieces += 1
        guard pieces >= Self.maxPieces, !hasManyPieces, let context else {
            context?.write(wrapOutboundOut(bytes), promise: nil)
            return
        }
        hasManyPieces = true
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { [self] _ in
            pieces = 0
            hasManyPieces = false
            owner?.writabilityChanged(of: self)
        }
        context.write(wrapOutboundOut(bytes), promise: written)
    }

    func flush() { context?.flush() }

    func send(_ bytes: ByteBuffer) {
        write(bytes)
        flush()
    }

    /// Sends bytes. The future completes when the kernel has accepted them, and fails if it never will.
    func sendAll(_ bytes: ByteBuffer, on loop: any EventLoop) -> EventLoopFuture<Void> {
        guard let context, !isClosing else { return loop.makeFailedFuture(ChannelError.ioOnClosedChannel) }
        self.written &+= Int64(bytes.readableBytes)
        let written = loop.makePromise(of: Void.self)
        context.writeAndFlush(wrapOutboundOut(bytes), promise: written)
        return written.futureResult
    }

    /// Stops reading until ``resume()``. The peer stops when the socket's buffers are full.
    func pause() { isPaused = true }

    func resume() {
        guard isPaused else { return }
        isPaused = false
        lastRead = .now()
        if wantsRead {
            wantsRead = false
            context?.read()
        }
    }

    /// Ends the output. The socket closes if the peer has ended its output too, or if it cannot half-close.
    func finishWriting() {
        guard let context, !isClosing else { return }
        guard isInputEnded || !halfCloses else { return context.close(mode: .output, promise: nil) }
        closeAfterFlush()
    }

    /// Closes after all written bytes are sent.
    ///
    /// - Parameter limit: the time without progress after which the remaining bytes are lost and it closes with a reset; in all at
    ///   most 31 times that. Nil if the owner enforces a limit.
    func closeAfterFlush(within limit: Duration? = nil) {
        guard let context else { return }
        let wasClosing = isClosing
        isClosing = true
        context.flush()
        let isWaiting = waitingBytes > 0
        // A socket that is already closing may still wait for its peer, and its owner no longer enforces a limit.
        if isWaiting, let limit, lastCall == nil {
            limitDelivery(of: undeliveredBytes, to: TimeAmount(limit: limit), extensions: Self.maxExtensions)
        }
        guard !wasClosing else { return }
        guard isWaiting else { return context.close(promise: nil) }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { [self] _ in self.context?.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
    }

    /// Closes after `limit`, unless the peer has received some of the last bytes by then.
    ///
    /// - Parameter bytes: the number of bytes that the peer has not received now. ``noteDelivery(now:)`` has a number of its own,
    ///   because an owner may call it at other times.
    private func limitDelivery(of bytes: Int, to limit: TimeAmount, extensions: Int) {
        lastCall = context?.eventLoop.assumeIsolated().scheduleTask(in: limit) { [self] in
            guard waitingBytes > 0 else { return close() }
            let rest = undeliveredBytes
            guard extensions > 0, rest != bytes else { return reset() }
            limitDelivery(of: rest, to: limit, extensions: extensions - 1)
        }
    }

    /// Closes with a reset, so that the peer does not mistake the data for complete. Waits until the peer has received
    /// all written bytes, because a reset discards bytes that are still in the kernel.
    ///
    /// - Parameter limit: the maximum time to wait.
    func resetAfterDelivery(within limit: Duration) {
        guard let context, !resetsAfterDelivery else { return }
        guard !isClosing else { return reset() }
        resetsAfterDelivery = true
        isClosing = true
        lastCall?.cancel()
        lastCall = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit: limit)) { [self] in reset() }
        context.flush()
        awaitDelivery(interval: .milliseconds(1))
    }

    /// Checks with growing intervals, because the system does not report that a peer has received everything.
    private func awaitDelivery(interval: TimeAmount) {
        guard let context else { return }
        guard let waiting = unacknowledgedBytes(context.channel), waiting > 0 else { return reset() }
        context.eventLoop.assumeIsolated().scheduleTask(in: interval) { [self] in
            awaitDelivery(interval: min(interval + interval, .milliseconds(100)))
        }
    }

    /// Closes with a reset, and without TLS's orderly end. Bytes that the peer has not received are lost.
    func reset() {
        hasFailed = true
        isClosing = true
        context?.channel.resetsAtClose()
        context?.channel.closeTransport()
    }

    func close() {
        isClosing = true
        context?.close(promise: nil)
    }

    // MARK: For the channel

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    /// A channel that never became active receives no `channelInactive`.
    func handlerRemoved(context: ChannelHandlerContext) { end() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lastActivity = .now()
        lastRead = lastActivity
        owner?.received(unwrapInboundIn(data), from: self)
    }

    func channelReadComplete(context: ChannelHandlerContext) { owner?.receivedAll(from: self) }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        lastActivity = .now()
        owner?.writabilityChanged(of: self)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed:
            isInputEnded = true
            owner?.inputEnded(of: self)
        case ChannelEvent.outputClosed: isOutputEnded = true
        default: break
        }
    }

    func channelInactive(context: ChannelHandlerContext) { end() }

    private func end() {
        // NIO reports no error after a failed write. An orderly end comes before, unless the output has ended too.
        if halfCloses, !isClosing, !isInputEnded, !isOutputEnded { hasFailed = true }
        isGone = true
        context = nil
        lastCall?.cancel()
        lastCall = nil
        let owner = owner
        self.owner = nil
        owner?.closed(self)
        let server = server
        self.server = nil
        server?.forget(self)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A reset after the end of the peer's output loses no data.
        if !isInputEnded { hasFailed = true }
        context.close(promise: nil)
    }

    func read(context: ChannelHandlerContext) {
        if isPaused {
            wantsRead = true
        } else {
            context.read()
        }
    }
}
