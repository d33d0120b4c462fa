// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// The bounds of one exchange.
struct ExchangeLimits: Sendable {
    /// Response bytes that may wait for the caller before the connection stops reading.
    var bufferedBytes: Int
    /// How long the peer may be silent.
    var idle: TimeAmount?
    /// When the exchange must be over.
    var deadline: NIODeadline?
}
