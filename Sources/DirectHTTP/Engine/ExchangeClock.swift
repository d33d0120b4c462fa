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

    /// Names the limit that ended the wait for a connection: where the time for the whole exchange was over, that is the cause,
    /// whatever was waited for.
    func explaining(_ error: DirectHTTPError) -> DirectHTTPError {
        guard let deadline, deadline == connectDeadline, deadline <= .now(),
            error.code == .connectTimeout || error.code == .poolExhausted
        else { return error }
        var error = error
        error.code = .deadlineExceeded
        return error
    }
}
