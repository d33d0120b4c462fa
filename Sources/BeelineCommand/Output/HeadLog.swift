// SPDX-License-Identifier: Apache-2.0

import Beeline
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

    /// Removes and returns the heads since the last call, and their size.
    func take() -> (heads: [ByteBuffer], size: Int, isBroken: Bool) {
        state.withLockedValue { state in
            defer { state = State() }
            guard let lines = state.broken else { return (state.heads, state.size, false) }
            let size = state.size + lines.readableBytes
            return (keepsHeads && size <= Self.limit ? state.heads + [lines] : state.heads, size, true)
        }
    }
}
