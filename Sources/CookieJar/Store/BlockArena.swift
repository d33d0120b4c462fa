// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

/// Where the blocks of a jar are: pieces of memory that grow with it.
///
/// A large jar is spread over more pages than the processor knows at once, and then each look-up waits for it to find two of
/// them. The pieces of a large jar are as large as the pages that Linux gives to those who ask, and so they are few. A block
/// that is released is used for the next of its class; the pieces themselves are given back when none is in use.
///
/// It is not for several threads at once: the lock of the jar guards it.
final class BlockArena {
    /// A piece of a large jar, and what it is aligned to: a huge page of most processors.
    private static let largestPiece = 2 << 20
    private static let smallestPiece = 4 << 10
    /// Longer blocks come from the system's allocator, one by one: they are few, and of many lengths.
    static let longestBlock = 64 << 10
    private static let shortestBlock = 64
    /// Lengths of blocks between a power of two and the next one.
    private static let stepsPerDoubling = 8

    private(set) var pieces: [UnsafeMutableRawPointer] = []
    private var nextPiece = smallestPiece
    /// What is left of the last piece.
    private var start: UnsafeMutableRawPointer?
    private var room = 0
    /// The released blocks of each class; the first octets of one lead to the next.
    private var released: [UnsafeMutableRawPointer?]
    private var used = 0

    init() {
        released = Array(repeating: nil, count: Self.class(of: Self.longestBlock).index + 1)
    }

    deinit {
        for piece in pieces { piece.deallocate() }
    }

    /// The class of a block, and how long its blocks are: an eighth longer than they need be at the most, but for short ones.
    static func `class`(of length: Int) -> (index: Int, length: Int) {
        let atLeast = max(length, shortestBlock)
        let step = max(doubling(atLeast - 1) / stepsPerDoubling, 16)
        let length = (atLeast + step - 1) & ~(step - 1)
        let doubling = doubling(length)
        let doublings = doubling.trailingZeroBitCount - shortestBlock.trailingZeroBitCount
        return (doublings * stepsPerDoubling + (length - doubling) * stepsPerDoubling / doubling, length)
    }

    /// The greatest power of two that is not above a number.
    private static func doubling(_ number: Int) -> Int { 1 << (Int.bitWidth - 1 - number.leadingZeroBitCount) }

    /// Memory for a block, aligned to 16 octets.
    func allocate(_ length: Int) -> UnsafeMutableRawPointer {
        guard length <= Self.longestBlock else { return .allocate(byteCount: length, alignment: 16) }
        let (index, length) = Self.class(of: length)
        used += 1
        if let block = released[index] {
            released[index] = block.load(as: UnsafeMutableRawPointer?.self)
            return block
        }
        let block = if let start, length <= room { start } else { addPiece(for: length) }
        start = block + length
        room -= length
        return block
    }

    /// Takes a block back. `length` is what was asked for.
    func release(_ block: UnsafeMutableRawPointer, _ length: Int) {
        guard length <= Self.longestBlock else { return block.deallocate() }
        let index = Self.class(of: length).index
        block.storeBytes(of: released[index], as: UnsafeMutableRawPointer?.self)
        released[index] = block
        used -= 1
        if used == 0 { removePieces() }
    }

    /// Begins a piece. What is left of the last one stays unused; it is less than a block.
    private func addPiece(for length: Int) -> UnsafeMutableRawPointer {
        room = max(nextPiece, length)
        let isLarge = room == Self.largestPiece
        let piece = UnsafeMutableRawPointer.allocate(byteCount: room, alignment: isLarge ? Self.largestPiece : 16)
        #if os(Linux) || os(Android)
        // A hint: where it is not taken, nothing is lost.
        if isLarge { madvise(piece, room, MADV_HUGEPAGE) }
        #endif
        pieces.append(piece)
        nextPiece = min(nextPiece * 2, Self.largestPiece)
        return piece
    }

    private func removePieces() {
        for piece in pieces { piece.deallocate() }
        pieces = []
        (nextPiece, start, room) = (Self.smallestPiece, nil, 0)
        for index in released.indices { released[index] = nil }
    }
}
