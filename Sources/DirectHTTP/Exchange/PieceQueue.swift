// SPDX-License-Identifier: Apache-2.0

import DequeModule
import NIOCore

/// Pieces of a body that wait for the caller. Most responses have one piece, which needs no allocation here.
///
/// A short piece is appended to the previous one. Otherwise a peer that sends one byte at a time would make each waiting byte
/// keep its whole read buffer in memory.
struct PieceQueue {
    /// Smaller pieces are joined to the previous one.
    private static let short = 4 * 1024
    /// The maximum size of joined pieces in bytes.
    private static let joined = 16 * 1024

    private var first: ByteBuffer?
    private var rest = Deque<ByteBuffer>()

    var isEmpty: Bool { first == nil }

    mutating func append(_ piece: ByteBuffer) {
        // Read lengths, not buffers: a second reference to the last buffer would cause a copy on write.
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
