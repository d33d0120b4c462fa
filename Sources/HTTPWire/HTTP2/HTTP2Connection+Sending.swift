// SPDX-License-Identifier: Apache-2.0

import DequeModule
package import NIOCore

// Sends heads and bodies as fast as the windows and the owner allow, with streams in turn (RFC 9113 §5.2).
extension HTTP2Connection {
    /// Opens a stream with the header block of a request, and returns its ID.
    ///
    /// - Parameter mayHaveBody: whether the response can have a body; false for HEAD.
    package mutating func open(_ block: inout ByteBuffer, endStream: Bool, mayHaveBody: Bool) -> UInt32 {
        let id = nextID
        nextID += 2
        streams[id] = Stream(
            mayHaveBody: mayHaveBody,
            receiveWindow: HTTP2ReceiveWindow(limits.streamWindow),
            sendWindow: initialSendWindow,
            isWhole: endStream,
            isLocalEnded: endStream
        )
        out.writeHeaderBlock(&block, stream: id, endStream: endStream, maxLength: maxFrame)
        return id
    }

    /// Replies on a stream of the peer with the header block of a response.
    package mutating func reply(_ block: inout ByteBuffer, to id: UInt32, endStream: Bool) {
        guard let index = streams.index(forKey: id) else { return }
        out.writeHeaderBlock(&block, stream: id, endStream: endStream, maxLength: maxFrame)
        floodGuard.resetEmptyFrames()
        guard endStream else { return }
        streams.values[index].isWhole = true
        endLocal(id, at: index)
    }

    /// Queues a piece of a body for ``writeNextFrame()``.
    ///
    /// - Parameter isLast: whether this piece, which may be empty, ends the body.
    package mutating func send(_ piece: ByteBuffer, on id: UInt32, isLast: Bool) {
        guard let index = streams.index(forKey: id), !streams.values[index].isWhole else { return }
        if piece.readableBytes > 0 {
            streams.values[index].unsent.append(piece)
            streams.values[index].unsentBytes += piece.readableBytes
            heldBytes += piece.readableBytes
        }
        streams.values[index].isWhole = isLast
        queue(at: index)
    }

    /// Writes one frame of the next stream in turn.
    ///
    /// - Returns: the stream; nil if nothing can be sent.
    package mutating func writeNextFrame() -> UInt32? {
        while let place = sendWindow > 0 ? sending.indices.first : sending.firstIndex(where: needsNoWindow) {
            let id = sending.remove(at: place)
            guard let index = streams.index(forKey: id) else { continue }
            streams.values[index].isQueued = false
            // SETTINGS may have shrunk the window while the stream was queued (RFC 9113 §6.9.2).
            guard streams.values[index].sendWindow > 0 || needsNoWindow(id) else { continue }
            writeFrame(of: id, at: index)
            return id
        }
        return nil
    }

    /// Whether only the end of the body is left to send, which needs no window.
    private func needsNoWindow(_ id: UInt32) -> Bool { streams[id]?.unsentBytes == 0 }

    private mutating func writeFrame(of id: UInt32, at index: Dictionary<UInt32, Stream>.Index) {
        guard var piece = streams.values[index].unsent.popFirst() else {
            out.writeFrame(.data, flags: HTTP2Frame.Flags.endStream, stream: id, length: 0)
            return endLocal(id, at: index)
        }
        let length = min(piece.readableBytes, maxFrame, sendWindow, streams.values[index].sendWindow)
        streams.values[index].unsentBytes -= length
        heldBytes -= length
        streams.values[index].sendWindow -= length
        sendWindow -= length
        let isLast = streams.values[index].unsentBytes == 0 && streams.values[index].isWhole
        out.writeFrame(.data, flags: isLast ? HTTP2Frame.Flags.endStream : 0, stream: id, length: length)
        piece.withUnsafeReadableBytes { bytes in
            _ = out.writeBytes(UnsafeRawBufferPointer(rebasing: bytes[..<length]))
        }
        piece.moveReaderIndex(forwardBy: length)
        if piece.readableBytes > 0 { streams.values[index].unsent.prepend(piece) }
        floodGuard.resetEmptyFrames()
        if isLast { endLocal(id, at: index) } else { queue(at: index) }
    }

    private mutating func endLocal(_ id: UInt32, at index: Dictionary<UInt32, Stream>.Index) {
        streams.values[index].isLocalEnded = true
        if streams.values[index].isRemoteEnded { remove(id) }
    }

    /// Queues a stream if it can send something now.
    mutating func queue(at index: Dictionary<UInt32, Stream>.Index) {
        let stream = streams.values[index]
        guard !stream.isQueued, !stream.isLocalEnded else { return }
        guard stream.unsentBytes == 0 ? stream.isWhole : stream.sendWindow > 0 else { return }
        streams.values[index].isQueued = true
        sending.append(streams[index].key)
    }

    // MARK: Windows

    /// Enlarges a stream's receive window if its reader keeps up (``HTTP2ReceiveWindow``).
    package mutating func credit(_ id: UInt32, isStalled: Bool) {
        guard let index = streams.index(forKey: id), !streams.values[index].isRemoteEnded else { return }
        guard let credit = streams.values[index].receiveWindow.credit(isStalled: isStalled) else { return }
        out.writeWindowUpdate(credit, stream: id)
    }

    /// Enlarges a stream's receive window by `bytes`.
    package mutating func allow(_ bytes: Int, on id: UInt32) {
        guard let index = streams.index(forKey: id), !streams.values[index].isRemoteEnded else { return }
        streams.values[index].receiveWindow.allow(bytes)
        out.writeWindowUpdate(bytes, stream: id)
    }
}
