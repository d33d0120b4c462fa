// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOCore
import Names

/// What happens on a socket, told to whoever has it at the moment. All of it on the event loop.
protocol WireOwner: AnyObject {
    /// Bytes came.
    func received(_ bytes: ByteBuffer, from wire: Wire)
    /// No more bytes come for now: the moment to flush what they led to.
    func receivedAll(from wire: Wire)
    /// The peer will send no more; it may still read.
    func inputEnded(of wire: Wire)
    /// The socket takes more bytes, or should be given no more; see ``Wire/isWritable``.
    func writabilityChanged(of wire: Wire)
    /// The socket is gone.
    func closed(_ wire: Wire)
    /// Time has passed.
    func check(_ wire: Wire, now: NIODeadline)
}

/// One socket of the proxy: the only handler of its channel. It counts, remembers and stops reading; what bytes mean is its
/// owner's business, which changes while the socket lives: from a request to a tunnel, from an exchange to the pool.
final class Wire: ChannelInboundHandler, ChannelOutboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Who has the socket. The circles of references are broken when the socket closes; one that is gone gets no owner.
    var owner: (any WireOwner)? { didSet { if isGone, owner != nil { owner = nil } } }
    /// Whether the peer has said that it will send no more.
    private(set) var isInputEnded = false
    private(set) var lastActivity: NIODeadline
    /// When bytes last came, or reading went on after ``pause()``.
    private(set) var lastRead: NIODeadline
    /// Whether the socket broke before the peer's end: the peer reset it, or a peer of TLS ended it without a word.
    private(set) var hasFailed = false
    /// Whether the peer took a login for this connection: requests of other clients must not use it.
    var isTied = false
    /// Whether the peer was ever sent anything.
    private(set) var hasWritten = false
    /// Whether one direction can end before the other; TLS ends both.
    let halfCloses: Bool
    /// The server that counts the socket; nil for sockets to origins.
    private var server: ProxyServer?
    private var context: ChannelHandlerContext?
    private var isGone = false
    private(set) var isPaused = false
    private var wantsRead = false
    private var isClosing = false
    /// Closes a socket whose last bytes find no reader.
    private var lastCall: Scheduled<Void>?
    private var written: Int64 = 0
    /// Pieces since the last time when none was known to wait.
    private var pieces = 0
    private var hasManyPieces = false
    private static let maxPieces = 1024
    /// How many bytes have left, and since when no more have.
    private var stall: (sent: Int64, since: NIODeadline)?
    /// What the socket counts for among the clients; nil for sockets to origins.
    let countsFor: IPAddress?

    /// - Parameters:
    ///   - now: the time.
    ///   - halfCloses: whether one direction can end before the other.
    ///   - server: told when a client's socket is gone; nil for a socket to an origin.
    ///   - client: what the socket counts for among the clients.
    init(now: NIODeadline, halfCloses: Bool = true, of server: ProxyServer? = nil, client: IPAddress? = nil) {
        lastActivity = now
        lastRead = now
        self.halfCloses = halfCloses
        self.server = server
        countsFor = client
    }

    var isOpen: Bool { context != nil && !isClosing }
    /// Whether the socket takes more bytes. Beside the bytes that wait the pieces are counted: each has a buffer of its own,
    /// which is larger than a piece of one byte.
    var isWritable: Bool { (context?.channel.isWritable ?? false) && !hasManyPieces }

    /// Bytes that wait for the peer.
    var waitingBytes: Int { (try? context?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }

    /// Whether bytes have waited for the peer for so long, and it has read none of them. To be asked now and then.
    func isStalled(for limit: TimeAmount, now: NIODeadline) -> Bool {
        let waiting = waitingBytes
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

    // MARK: For the owner

    func write(_ bytes: ByteBuffer) {
        guard !isClosing else { return }
        hasWritten = true
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

    /// Sends, and tells when the kernel has it, or that it never will.
    func sendAll(_ bytes: ByteBuffer, on loop: any EventLoop) -> EventLoopFuture<Void> {
        guard let context, !isClosing else { return loop.makeFailedFuture(ChannelError.ioOnClosedChannel) }
        hasWritten = true
        self.written &+= Int64(bytes.readableBytes)
        let written = loop.makePromise(of: Void.self)
        context.writeAndFlush(wrapOutboundOut(bytes), promise: written)
        return written.futureResult
    }

    /// Ends the handshake with a peer that was not sent anything yet; see ``SilentTunnels``.
    func endHandshake() {
        guard let context, !hasWritten else { return }
        HandshakeEnd.send(on: context.channel)
    }

    /// Reads no more until ``resume()``: the peer is stopped by its full buffers.
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

    /// Says that no more bytes follow those that were written; the socket closes where the peer has said the same, and where
    /// it must.
    func finishWriting() {
        guard let context, !isClosing else { return }
        guard isInputEnded || !halfCloses else { return context.close(mode: .output, promise: nil) }
        closeAfterFlush()
    }

    /// Closes when all that was written has left.
    ///
    /// - Parameter limit: closes by then in any case; nil where the owner sees to that.
    func closeAfterFlush(within limit: Duration? = nil) {
        guard let context else { return }
        // What closes already may still wait for its reader, and had a watcher until now.
        if let limit, lastCall == nil {
            lastCall = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) { [self] in close() }
        }
        guard !isClosing else { return }
        isClosing = true
        context.flush()
        guard waitingBytes > 0 else { return context.close(promise: nil) }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { [self] _ in self.context?.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
    }

    /// Makes the end of the connection a reset, so that what the peer was sent does not look whole.
    func resetsAtClose() { context?.channel.resetsAtClose() }

    /// Closes by a reset.
    func reset() {
        resetsAtClose()
        close()
    }

    func close() {
        isClosing = true
        context?.close(promise: nil)
    }

    // MARK: For the channel

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    /// A channel that never became active is not told to be inactive.
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
        guard case ChannelEvent.inputClosed = event else { return }
        isInputEnded = true
        owner?.inputEnded(of: self)
    }

    func channelInactive(context: ChannelHandlerContext) { end() }

    private func end() {
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
        // A reset after the peer's end takes nothing away from what it sent.
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
