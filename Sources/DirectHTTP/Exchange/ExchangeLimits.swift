// SPDX-License-Identifier: Apache-2.0

import NIOCore

struct ExchangeLimits: Sendable {
    /// How many response bytes may wait for the caller before the connection stops reading.
    var bufferedBytes: Int
    /// How long the peer may send nothing; nil: no limit.
    var idle: TimeAmount?
    /// When the exchange must have ended; nil: no limit.
    var deadline: NIODeadline?
}
