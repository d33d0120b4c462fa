// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Gives a socket a buffer for each read, and leaves it none: tunnels rest most of the time, thousands of them, and NIO keeps
/// for the next read what its own allocators gave for the last one, 64 KiB or a multiple of that.
///
/// A channel of one message a read keeps the first buffer that it is given, so that one is just large enough for the head of
/// a CONNECT; the others go with what was read into them.
struct ReceiveBuffers: RecvByteBufferAllocator {
    private static let first = 256
    /// The smallest is what allocators have at hand.
    private static let sizes = 1024...262_144

    private var size = Self.first

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer { allocator.buffer(capacity: size) }

    /// Grows where a read filled its buffer, and shrinks where it left most of it empty. Always true, which keeps NIO from
    /// using the first buffer again.
    mutating func record(actualReadBytes: Int) -> Bool {
        if actualReadBytes >= size {
            size *= 4
        } else if actualReadBytes < size / 4 {
            size /= 2
        }
        size = min(max(size, Self.sizes.lowerBound), Self.sizes.upperBound)
        return true
    }
}

extension ByteBuffer {
    /// The same bytes in a buffer of their size, where the one they are in is much larger.
    var withoutSlack: ByteBuffer {
        storageCapacity / 4 > readableBytes ? ByteBuffer(bytes: readableBytesView) : self
    }
}
