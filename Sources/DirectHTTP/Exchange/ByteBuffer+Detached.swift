// SPDX-License-Identifier: Apache-2.0

import NIOCore

extension ByteBuffer {
    /// The same bytes in memory of their own.
    ///
    /// NIOSSL decrypts into one buffer again and again. Where a reader still has a piece of it, it is copied whole, with what is not
    /// filled, and a piece that is kept would keep all of it: some hundred kilobytes once much was read at a time.
    func detached() -> ByteBuffer {
        var copy = ByteBufferAllocator().buffer(capacity: readableBytes)
        copy.writeImmutableBuffer(self)
        return copy
    }
}
