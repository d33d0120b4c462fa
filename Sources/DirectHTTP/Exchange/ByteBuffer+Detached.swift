// SPDX-License-Identifier: Apache-2.0

package import NIOCore

extension ByteBuffer {
    /// The same bytes, copied if they are part of a buffer larger than 32 KiB.
    ///
    /// NIOSSL decrypts into one buffer again and again. While a reader holds a slice of it, NIOSSL copies the whole buffer,
    /// unused space included, and each slice keeps a whole buffer in memory: 32 KiB, and hundreds after large reads.
    func detached() -> ByteBuffer { storageCapacity > 32 * 1024 ? copied() : self }

    /// The same bytes, copied if their buffer is more than four times as large.
    ///
    /// Otherwise a peer that sends one byte at a time would make each byte keep a whole buffer in memory.
    package func compacted() -> ByteBuffer {
        storageCapacity / 4 > readableBytes ? copied() : self
    }

    private func copied() -> ByteBuffer {
        var copy = ByteBufferAllocator().buffer(capacity: readableBytes)
        copy.writeImmutableBuffer(self)
        return copy
    }
}
