// SPDX-License-Identifier: Apache-2.0

import Beeline
import NIOConcurrencyHelpers
import NIOCore

/// The response heads of a request as received, until `-i` and `-D` print them.
final class HeadLog: Sendable {
    /// The maximum size of the heads of all hops of a request, in bytes. More is an error.
    static let limit = 4 << 20

    private struct State {
        var heads: [ByteBuffer] = []
        var size = 0
    }

    private let state = NIOLockedValueBox(State())
    private let keepsHeads: Bool

    /// - Parameter keepsHeads: false to count their bytes only.
    init(keepsHeads: Bool) { self.keepsHeads = keepsHeads }

    /// Adds a head.
    func add(_ head: ReceivedHead) {
        state.withLockedValue { state in
            state.size += head.raw.readableBytes
            if keepsHeads, state.size <= Self.limit { state.heads.append(head.raw) }
        }
    }

    /// Removes and returns the heads since the last call, and their size.
    func take() -> (heads: [ByteBuffer], size: Int) {
        state.withLockedValue { state in
            defer { state = State() }
            return (state.heads, state.size)
        }
    }
}
