// SPDX-License-Identifier: Apache-2.0

import NIOCore

// How bodies leave (RFC 9113 §5.2): as fast as the windows and the socket allow, every stream in its turn.
extension HTTP2Handler {
    /// Sends what can be sent. A frame of each stream goes to the socket at a time, and no more than it takes.
    func sendQueued(_ context: ChannelHandlerContext) {
        guard !connection.sending.isEmpty else { return }
        let now = context.eventLoop.now
        while context.channel.isWritable, let id = connection.writeNextFrame() {
            if let stream = streams[id] {
                stream.watch.note(now: now)
                if connection.streams[id]?.unsentBytes ?? 0 < HTTP2Stream.maximumUnsent {
                    stream.sendWaiter.take()?(true)
                }
            }
            if connection.out.readableBytes >= HTTP2Stream.maximumUnsent { flush(context) }
        }
    }

    /// Writes what was gathered at the end of this turn, so that requests of many tasks leave together.
    func planFlush(_ context: ChannelHandlerContext) {
        guard !isReading, !isFlushPlanned, connection.out.readableBytes > 0 else { return }
        isFlushPlanned = true
        context.eventLoop.executeAfterJobs { [self] in
            isFlushPlanned = false
            if let context = self.context { flush(context) }
        }
    }

    func flush(_ context: ChannelHandlerContext) {
        guard connection.out.readableBytes > 0 else { return }
        // A socket that takes all at once says so in the midst of this, and then the next frames are written and flushed: they must
        // not find these ones here.
        var frames = ByteBuffer()
        swap(&frames, &connection.out)
        context.writeAndFlush(wrapOutboundOut(frames), promise: nil)
        guard connection.out.readableBytes == 0 else { return }
        // The memory is used again where the socket or TLS is done with it.
        frames.clear()
        swap(&frames, &connection.out)
    }
}
