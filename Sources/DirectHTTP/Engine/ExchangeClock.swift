// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// When an exchange began, and when it must be over.
struct ExchangeClock {
    let begin = NIODeadline.now()
    let deadline: NIODeadline?
    let connectDeadline: NIODeadline?

    init(limits: TimeLimits) {
        let begin = begin
        let whole = limits.whole.map { begin + TimeAmount($0) }
        let connect = limits.connect.map { begin + TimeAmount($0) }
        deadline = whole
        connectDeadline = if let whole, let connect { min(whole, connect) } else { whole ?? connect }
    }
}
