// SPDX-License-Identifier: Apache-2.0

import HTTPWire
import NIOCore

// Sends the bodies of requests.
extension HTTP1Handler {
    /// Sends as much of a body in memory as the socket accepts now.
    func sendBody(_ context: ChannelHandlerContext) {
        while context.channel.isWritable, let piece = upload.takePiece() { writeAndFlush(piece, context) }
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
    }

    func finishSending(_ exchange: Exchange) {
        guard let context, exchange === self.exchange, !upload.isSent else { return }
        upload.end()
        watch.recordActivity(now: context.eventLoop.now)
        if exchange.request.framing == .chunked {
            writeAndFlush(.lastChunk, context)
        }
    }

    func writeAndFlush(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        progress.wrote(bytes.readableBytes)
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
    }
}
