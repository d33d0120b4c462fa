// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOCore

/// Counts bytes that the peers receive as activity after one side has ended. NIO reads all that a side sent before its end, which
/// the other side may take long to receive.
struct DeliveryWatch {
    /// The time of the first check after the end.
    private var since: NIODeadline?

    /// Must be called periodically after the end.
    ///
    /// - Parameter limit: the time in which received bytes count, from the first call.
    mutating func check(_ client: Wire, _ origin: Wire?, within limit: Duration, now: NIODeadline) {
        let begin = since ?? now
        since = begin
        guard now - begin < TimeAmount(limit: limit) else { return }
        client.noteDelivery(now: now)
        origin?.noteDelivery(now: now)
    }
}
