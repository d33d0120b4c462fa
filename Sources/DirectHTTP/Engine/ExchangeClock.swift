// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// The start and the deadlines of an exchange.
struct ExchangeClock {
    let begin = NIODeadline.now()
    let deadline: NIODeadline?
    /// The deadline of the current wait for a connection.
    private(set) var connectDeadline: NIODeadline?
    private let connect: TimeAmount?

    init(limits: TimeLimits) {
        let begin = begin
        deadline = limits.whole.map { begin + TimeAmount($0) }
        connect = limits.connect.map { TimeAmount($0) }
        beginRound(now: begin)
    }

    /// Restarts the time limit for getting a connection. A reused connection may turn out to be dead long after it was leased,
    /// and its replacement gets the full time.
    mutating func beginRound(now: NIODeadline = .now()) {
        let limit = connect.map { now + $0 }
        connectDeadline = if let deadline, let limit { min(deadline, limit) } else { deadline ?? limit }
    }

    /// Changes the error of a wait for a connection to `deadlineExceeded` if the limit of the whole exchange ended the wait.
    func explaining(_ error: DirectHTTPError) -> DirectHTTPError {
        guard let deadline, deadline == connectDeadline, deadline <= .now(),
            error.code == .connectTimeout || error.code == .poolExhausted
        else { return error }
        var error = error
        error.code = .deadlineExceeded
        return error
    }
}
