// SPDX-License-Identifier: Apache-2.0

import DequeModule
import NIOCore

// How bodies leave (RFC 9113 §5.2): as fast as the windows and the socket allow, every stream in its turn.
extension HTTP2Handler {
    /// Lets a stream take its turns, if it has something to send.
    func queue(_ stream: HTTP2Stream) {
        guard !stream.isQueued, !stream.isRequestSent, streams[stream.id] != nil else { return }
        guard stream.unsent.isEmpty ? stream.isBodyWhole : stream.sendWindow > 0 else { return }
        stream.isQueued = true
        sending.append(stream)
    }

    /// Sends what can be sent. A frame of each stream goes to the socket at a time, and no more than it takes.
    func sendQueued(_ context: ChannelHandlerContext) {
        guard !sending.isEmpty else { return }
        let now = context.eventLoop.now
        while context.channel.isWritable, let stream = sending.first {
            guard streams[stream.id] != nil else {
                sending.removeFirst()
                continue
            }
            // The end of a body needs no window.
            guard sendWindow > 0 || stream.unsent.isEmpty else { break }
            sending.removeFirst()
            stream.isQueued = false
            // SETTINGS may have taken the window back while it waited (RFC 9113 §6.9.2).
            guard stream.sendWindow > 0 || stream.unsent.isEmpty else { continue }
            sendFrame(of: stream)
            stream.watch.note(now: now)
            queue(stream)
            if stream.unsentBytes < HTTP2Stream.maximumUnsent { stream.sendWaiter.take()?(true) }
            if out.readableBytes >= HTTP2Stream.maximumUnsent { flush(context) }
        }
    }

    private func sendFrame(of stream: HTTP2Stream) {
        guard var piece = stream.unsent.popFirst() else {
            out.writeFrame(.data, flags: HTTP2Frame.Flags.endStream, stream: stream.id, length: 0)
            stream.isRequestSent = true
            return
        }
        let length = min(piece.readableBytes, maximumFrame, sendWindow, stream.sendWindow)
        let isLast = length == piece.readableBytes && stream.unsent.isEmpty && stream.isBodyWhole
        out.writeFrame(
            .data,
            flags: isLast ? HTTP2Frame.Flags.endStream : 0,
            stream: stream.id,
            length: length
        )
        piece.withUnsafeReadableBytes { bytes in
            _ = out.writeBytes(UnsafeRawBufferPointer(rebasing: bytes[..<length]))
        }
        piece.moveReaderIndex(forwardBy: length)
        if piece.readableBytes > 0 { stream.unsent.prepend(piece) }
        stream.unsentBytes -= length
        stream.sendWindow -= length
        sendWindow -= length
        stream.isRequestSent = isLast
        guardian.progress()
    }

    /// Writes what was gathered at the end of this turn, so that requests of many tasks leave together.
    func planFlush(_ context: ChannelHandlerContext) {
        guard !isReading, !isFlushPlanned, out.readableBytes > 0 else { return }
        isFlushPlanned = true
        context.eventLoop.executeAfterJobs { [self] in
            isFlushPlanned = false
            if let context = self.context { flush(context) }
        }
    }

    func flush(_ context: ChannelHandlerContext) {
        guard out.readableBytes > 0 else { return }
        // A socket that takes all at once says so in the midst of this, and then the next frames are written and flushed: they must
        // not find these ones here.
        var frames = ByteBuffer()
        swap(&frames, &out)
        context.writeAndFlush(wrapOutboundOut(frames), promise: nil)
        guard out.readableBytes == 0 else { return }
        // The memory is used again where the socket or TLS is done with it.
        frames.clear()
        swap(&frames, &out)
    }
}
