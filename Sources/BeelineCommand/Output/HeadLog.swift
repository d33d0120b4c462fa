// SPDX-License-Identifier: Apache-2.0

import Beeline
import NIOConcurrencyHelpers
import NIOCore

/// The response heads of a transfer as received, until `-i` and `-D` print them.
final class HeadLog: Sendable {
    private let heads = NIOLockedValueBox<[ByteBuffer]>([])

    /// Adds a head.
    func add(_ head: ReceivedHead) {
        heads.withLockedValue { $0.append(head.raw) }
    }

    /// Removes and returns the heads since the last call.
    func take() -> [ByteBuffer] {
        heads.withLockedValue { heads in
            defer { heads = [] }
            return heads
        }
    }
}
