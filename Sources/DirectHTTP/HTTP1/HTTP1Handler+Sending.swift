// SPDX-License-Identifier: Apache-2.0

import HTTPWire
import NIOCore

// Sends the bodies of requests.
extension HTTP1Handler {
    /// Sends as much of a body in memory as the socket accepts now.
    func sendBody(_ context: ChannelHandlerContext) {
        guard upload.isInMemory else { return }
        while context.channel.isWritable, let piece = upload.takePiece() { writeAndFlush(piece, context) }
        endOnceWritten(context)
    }

    func send(_ piece: ByteBuffer, of exchange: Exchange, done: @escaping @Sendable (Bool) -> Void) {
        guard let context, exchange === self.exchange, !upload.isSent else { return done(false) }
        if exchange.request.framing == .chunked {
            guard let chunk = ByteBuffer.chunk(of: piece) else { return done(true) }
            writeAndFlush(chunk, context)
        } else {
            writeAndFlush(piece, context)
            upload.sent(piece.readableBytes)
        }
        // The write may have failed at once and ended the exchange; nothing would resume a waiter then.
        guard exchange === self.exchange else { return done(false) }
        watch.recordActivity(now: context.eventLoop.now)
        if context.channel.isWritable {
            done(true)
        } else {
            sendWaiter = done
        }
        endOnceWritten(context)
    }

    func finishSending(_ exchange: Exchange) {
        guard let context, exchange === self.exchange, !upload.isSent else { return }
        upload.end()
        watch.recordActivity(now: context.eventLoop.now)
        if exchange.request.framing == .chunked {
            writeAndFlush(.lastChunk, context)
        }
        endOnceWritten(context)
    }

    /// Ends an exchange whose response was complete before its request, when the socket has taken the rest of the request. A
    /// connection that is closed before that would lose it.
    func endOnceWritten(_ context: ChannelHandlerContext) {
        guard isEndHeld, upload.isSent, let exchange else { return }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenSuccess { [self] in
            if exchange === self.exchange { releaseEnd() }
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
    }

    func writeAndFlush(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        progress.wrote(bytes.readableBytes)
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
    }
}
