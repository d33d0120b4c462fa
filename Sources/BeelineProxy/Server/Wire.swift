// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOCore

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

    /// Who has the socket. The circles of references are broken when the socket closes.
    var owner: (any WireOwner)?
    /// Whether the peer has said that it will send no more.
    private(set) var isInputEnded = false
    private(set) var lastActivity: NIODeadline
    /// Whether the peer was ever sent anything.
    private(set) var hasWritten = false
    /// Whether one direction can end before the other; TLS ends both.
    private let halfCloses: Bool
    /// The server that counts the socket; nil for sockets to origins.
    private var server: ProxyServer?
    private var context: ChannelHandlerContext?
    private var isPaused = false
    private var wantsRead = false
    private var isClosing = false

    /// - Parameters:
    ///   - now: the time.
    ///   - halfCloses: whether one direction can end before the other.
    ///   - server: told when a client's socket is gone; nil for a socket to an origin.
    init(now: NIODeadline, halfCloses: Bool = true, of server: ProxyServer? = nil) {
        lastActivity = now
        self.halfCloses = halfCloses
        self.server = server
    }

    var isOpen: Bool { context != nil && !isClosing }
    var isWritable: Bool { context?.channel.isWritable ?? false }

    // MARK: For the owner

    func write(_ bytes: ByteBuffer) {
        guard !isClosing else { return }
        hasWritten = true
        context?.write(wrapOutboundOut(bytes), promise: nil)
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
        guard let context, !isClosing else { return }
        isClosing = true
        context.flush()
        if (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) == 0 {
            return context.close(promise: nil)
        }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { [self] _ in self.context?.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
        guard let limit else { return }
        let timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) { [self] in close() }
        written.futureResult.whenComplete { _ in timer.cancel() }
    }

    func close() {
        isClosing = true
        context?.close(promise: nil)
    }

    // MARK: For the channel

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lastActivity = .now()
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

    func channelInactive(context: ChannelHandlerContext) {
        self.context = nil
        let owner = owner
        self.owner = nil
        owner?.closed(self)
        let server = server
        self.server = nil
        server?.forget(self)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func read(context: ChannelHandlerContext) {
        if isPaused {
            wantsRead = true
        } else {
            context.read()
        }
    }
}
