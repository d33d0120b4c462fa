// SPDX-License-Identifier: Apache-2.0

import Beeline
import HTTPWire
import NIOConcurrencyHelpers
import NIOCore

/// The response heads of a request as received, until `-i` and `-D` print them.
final class HeadLog: Sendable {
    /// The maximum size of the heads of all hops of a request, in bytes. A larger size is an error.
    static let limit = 4 << 20

    private struct State {
        var heads: [ByteBuffer] = []
        var size = 0
        /// The readable lines of an incomplete head. A repeated request replaces them.
        var broken: ByteBuffer?
    }

    private let state = NIOLockedValueBox(State())
    private let keepsHeads: Bool

    /// - Parameter keepsHeads: false to count their bytes only.
    init(keepsHeads: Bool) { self.keepsHeads = keepsHeads }

    /// Adds a head.
    ///
    /// - Parameter isHidden: whether to count its bytes only (`--suppress-connect-headers`).
    func add(_ head: ReceivedHead, isHidden: Bool = false) {
        state.withLockedValue { state in
            state.size += head.raw.readableBytes
            state.broken = nil
            if keepsHeads, !isHidden, state.size <= Self.limit { state.heads.append(head.raw) }
        }
    }

    /// Adds the readable lines of an incomplete or malformed head.
    func add(broken lines: ByteBuffer) { state.withLockedValue { $0.broken = lines } }

    /// Removes and returns the heads since the last call, each field on one line, and their size as received.
    func take() -> (heads: [ByteBuffer], size: Int, isBroken: Bool) {
        state.withLockedValue { state in
            defer { state = State() }
            let heads = state.heads.map(\.unfolded)
            guard let lines = state.broken else { return (heads, state.size, false) }
            let size = state.size + lines.readableBytes
            return (keepsHeads && size <= Self.limit ? heads + [lines.unfolded] : heads, size, true)
        }
    }
}

extension ByteBuffer {
    /// The head with one space in place of each line end and the blanks around it that fold a field (RFC 9112 §5.2). As in
    /// curl, a line that would continue the status line stays.
    fileprivate var unfolded: ByteBuffer {
        let lines = readableBytesView.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.dropFirst(2).contains(where: { $0.first.map(HTTPCharacters.isBlank) ?? false }) else { return self }
        var head: [UInt8] = []
        head.reserveCapacity(readableBytes)
        for (index, line) in lines.enumerated() {
            guard index > 1, line.first.map(HTTPCharacters.isBlank) ?? false else {
                if index > 0 { head.append(UInt8(ascii: "\n")) }
                head += line
                continue
            }
            if head.last == UInt8(ascii: "\r") { head.removeLast() }
            while head.last.map(HTTPCharacters.isBlank) ?? false { head.removeLast() }
            head.append(UInt8(ascii: " "))
            head += line.drop(while: HTTPCharacters.isBlank)
        }
        return ByteBuffer(bytes: head)
    }
}
