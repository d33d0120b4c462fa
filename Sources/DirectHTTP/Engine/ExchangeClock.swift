// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// When an exchange began, and when it must be over.
struct ExchangeClock {
    let begin = NIODeadline.now()
    let deadline: NIODeadline?
    /// When the connection must be there that is waited for now.
    private(set) var connectDeadline: NIODeadline?
    private let connect: TimeAmount?

    init(limits: TimeLimits) {
        let begin = begin
        deadline = limits.whole.map { begin + TimeAmount($0) }
        connect = limits.connect.map { TimeAmount($0) }
        beginRound(now: begin)
    }

    /// Begins to look for a connection, the first one or another. A connection may turn out to be dead long after it was lent, and
    /// the one that replaces it has as much time to be made.
    mutating func beginRound(now: NIODeadline = .now()) {
        let limit = connect.map { now + $0 }
        connectDeadline = if let deadline, let limit { min(deadline, limit) } else { deadline ?? limit }
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
