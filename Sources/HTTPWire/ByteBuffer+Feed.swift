// SPDX-License-Identifier: Apache-2.0

package import NIOCore

extension ByteBuffer {
    /// Appends bytes from a socket to those that were not read yet, and releases the memory of those that were. Otherwise a stream
    /// whose pieces never end at a line or a frame would stay in memory.
    package mutating func feed(_ bytes: ByteBuffer) {
        guard readableBytes > 0 else { return self = bytes }
        discardReadBytes()
        writeImmutableBuffer(bytes)
    }
}
