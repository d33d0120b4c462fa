// SPDX-License-Identifier: Apache-2.0

import HTTPWire
import NIOCore

// Sends bodies as fast as the windows and the socket allow, with streams in turn (RFC 9113 §5.2).
extension HTTP2Handler {
    /// Sends queued frames, one of each stream in turn, while the socket is writable.
    func sendQueued(_ context: ChannelHandlerContext) {
        guard !connection.sending.isEmpty else { return }
        let now = context.eventLoop.now
        while context.channel.isWritable, let id = connection.writeNextFrame() {
            if let stream = streams[id] {
                stream.watch.recordActivity(now: now)
                stream.sentMark = sentMark
                if connection.streams[id]?.unsentBytes ?? 0 < HTTP2Stream.maxUnsent {
                    stream.sendWaiter.take()?(true)
                }
                if stream.isEndHeld, connection.streams[id] == nil { endOnceWritten(stream) }
            }
            if connection.out.readableBytes >= HTTP2Stream.maxUnsent { flush(context) }
        }
    }

    /// The future value of ``SendProgress/written``, when all frames so far are written.
    var sentMark: Int64 { progress.written + Int64(connection.out.readableBytes) }

    /// Writes the buffered frames at the end of this event loop turn, so that requests of several tasks share one write.
    func planFlush(_ context: ChannelHandlerContext) {
        guard readTime == nil, !isFlushPlanned, connection.out.readableBytes > 0 else { return }
        isFlushPlanned = true
        context.eventLoop.executeAfterJobs { [self] in
            isFlushPlanned = false
            if let context = self.context { flush(context) }
        }
    }

    func flush(_ context: ChannelHandlerContext) {
        guard connection.out.readableBytes > 0 else { return }
        // The write may call `channelWritabilityChanged` synchronously, which writes and flushes further frames. These frames
        // must not be in `out` then, or they would be written twice.
        var frames = ByteBuffer()
        swap(&frames, &connection.out)
        progress.wrote(frames.readableBytes)
        context.writeAndFlush(wrapOutboundOut(frames), promise: nil)
        guard connection.out.readableBytes == 0 else { return }
        // Reuse the memory if the socket or TLS has released it.
        frames.clear()
        swap(&frames, &connection.out)
    }
}
