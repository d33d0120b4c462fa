// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// The last header block of a connection, with what it was read as.
///
/// Many a server repeats its block octet for octet, at least until the second in its Date is over. Then to compare it costs a
/// fraction of reading it, and the fields are not made again.
struct LastHeaderBlock<Content> {
    /// Longer blocks are not kept: a connection that rests shall hold little.
    private static var longest: Int { 1_024 }

    private var octets: [UInt8] = []
    private var content: Content?

    /// What a block is read as that is the same as the last one.
    func content(of block: ByteBuffer) -> Content? {
        guard block.readableBytes == octets.count,
            block.withUnsafeReadableBytes({ $0.contains(octets, at: 0) })
        else { return nil }
        return content
    }

    /// Keeps what a block was read as.
    mutating func note(_ block: ByteBuffer, _ content: Content) {
        guard block.readableBytes <= Self.longest else { return forget() }
        // A copy: the block is a part of the memory that the channel reads into.
        octets.removeAll(keepingCapacity: true)
        octets.append(contentsOf: block.readableBytesView)
        self.content = content
    }

    /// Forgets it, where the same octets would be read in another way.
    mutating func forget() {
        octets.removeAll()
        content = nil
    }
}
