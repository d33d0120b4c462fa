// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// The start and the deadlines of an exchange.
struct ExchangeClock {
    let begin = NIODeadline.now()
    let deadline: NIODeadline?
    /// The deadline of the current wait for a connection.
    private(set) var connectDeadline: NIODeadline?
    private let connect: TimeAmount?
    private var roundBegin: NIODeadline
    /// The time that all rounds spent on getting a connection.
    private var spent = TimeAmount.zero

    /// The maximum of ``spent``, as a multiple of the limit of one round. A server that refuses every request would otherwise
    /// multiply the limit by the number of rounds.
    static let maxFactor: Int64 = 3

    init(limits: TimeLimits) {
        let begin = begin
        deadline = limits.total.map { begin + TimeAmount(limit: $0) }
        connect = limits.connect.map { TimeAmount(limit: $0) }
        roundBegin = begin
        beginRound(connected: begin, now: begin)
    }

    /// Restarts the time limit for getting a connection. A reused connection may turn out to be dead long after it was leased,
    /// and its replacement gets the full time.
    ///
    /// - Parameter connected: when the last round had its connection.
    mutating func beginRound(connected: NIODeadline, now: NIODeadline = .now()) {
        spent = spent + (connected - roundBegin)
        roundBegin = now
        setConnectDeadline(now)
    }

    /// Restarts the time limit for getting a connection after a wait that does not count.
    mutating func excludeWait(since begin: NIODeadline, now: NIODeadline) {
        roundBegin = roundBegin + (now - begin)
        setConnectDeadline(now)
    }

    private mutating func setConnectDeadline(_ now: NIODeadline) {
        let limit = connect.map { connect in
            let (all, isTooLong) = connect.nanoseconds.multipliedReportingOverflow(by: Self.maxFactor)
            return now + max(.zero, min(connect, .nanoseconds(isTooLong ? .max : all) - spent))
        }
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
