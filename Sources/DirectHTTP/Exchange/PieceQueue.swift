// SPDX-License-Identifier: Apache-2.0

import DequeModule
import NIOCore

/// The pieces that wait for the caller. Most responses have one, which needs no memory of its own.
struct PieceQueue {
    private var first: ByteBuffer?
    private var rest = Deque<ByteBuffer>()

    var isEmpty: Bool { first == nil }

    mutating func append(_ piece: ByteBuffer) {
        if first == nil { first = piece } else { rest.append(piece) }
    }

    mutating func popFirst() -> ByteBuffer? {
        guard let piece = first else { return nil }
        first = rest.popFirst()
        return piece
    }
}
