// SPDX-License-Identifier: Apache-2.0

package import NIOCore

extension ByteBuffer {
    /// Appends bytes from a socket to the unread bytes, and releases the memory of the bytes that were read. Otherwise
    /// a stream would stay in memory if its pieces never end at a line or a frame.
    package mutating func feed(_ bytes: ByteBuffer) {
        guard readableBytes > 0 else { return self = bytes }
        discardReadBytes()
        writeImmutableBuffer(bytes)
    }
}
