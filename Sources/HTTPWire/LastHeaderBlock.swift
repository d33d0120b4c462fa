// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Caches the last header block of a connection with its parsed content.
///
/// Many servers repeat a header block byte for byte, at least until the second in its Date changes. Comparing is much cheaper
/// than parsing and creates no new fields.
package struct LastHeaderBlock<Content> {
    /// Longer blocks are not cached, so that an idle connection uses little memory.
    private static var longest: Int { 1_024 }

    private var block = ByteBuffer()
    private var content: Content?

    package init() {}

    /// The parsed content if a block equals the last one; nil otherwise.
    package func content(of block: ByteBuffer) -> Content? { block == self.block ? content : nil }

    package mutating func note(_ block: ByteBuffer, _ content: Content) {
        guard block.readableBytes <= Self.longest else { return forget() }
        // Copy the bytes: the block is a slice of the channel's read buffer.
        self.block.clear()
        self.block.writeImmutableBuffer(block)
        self.content = content
    }

    /// Clears the cache, for when the same bytes would be parsed differently.
    package mutating func forget() {
        block = ByteBuffer()
        content = nil
    }
}
