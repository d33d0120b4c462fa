// SPDX-License-Identifier: Apache-2.0

import DequeModule
import NIOCore

/// The pieces that wait for the caller. Most responses have one, which needs no memory of its own.
///
/// A short piece joins the one before it. A peer that sends a byte at a time would otherwise make each byte that waits keep the
/// buffer that it was read with.
struct PieceQueue {
    /// Pieces below this size join others.
    private static let short = 4 * 1024
    /// What joined pieces have at the most.
    private static let joined = 16 * 1024

    private var first: ByteBuffer?
    private var rest = Deque<ByteBuffer>()

    var isEmpty: Bool { first == nil }

    mutating func append(_ piece: ByteBuffer) {
        // Lengths, not buffers: another reference to the last one would make it be copied.
        guard let length = rest.last?.readableBytes ?? first?.readableBytes else { return first = piece }
        guard piece.readableBytes < Self.short, length + piece.readableBytes <= Self.joined else {
            return rest.append(piece)
        }
        if rest.isEmpty {
            first?.writeImmutableBuffer(piece)
        } else {
            rest[rest.count - 1].writeImmutableBuffer(piece)
        }
    }

    mutating func popFirst() -> ByteBuffer? {
        guard let piece = first else { return nil }
        first = rest.popFirst()
        return piece
    }
}
