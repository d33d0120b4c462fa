// SPDX-License-Identifier: Apache-2.0

import NIOCore

extension ByteBuffer {
    /// The same bytes in memory of their own, where they stand in a large buffer.
    ///
    /// NIOSSL decrypts into one buffer again and again. Where a reader still has a piece of it, it is copied whole, with what is not
    /// filled, and a piece that is kept keeps all of it. It begins with 32 KiB, and has some hundred once much was read at a time.
    func detached() -> ByteBuffer {
        storageCapacity > 32 * 1024 ? copied() : self
    }

    /// The same bytes, copied where the buffer that they are a piece of is more than four times as large.
    ///
    /// A peer that sends a byte at a time would otherwise make each of them keep a whole buffer in memory.
    func compacted() -> ByteBuffer {
        storageCapacity / 4 > readableBytes ? copied() : self
    }

    private func copied() -> ByteBuffer {
        var copy = ByteBufferAllocator().buffer(capacity: readableBytes)
        copy.writeImmutableBuffer(self)
        return copy
    }
}
