// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Tracks when a connection is due: its exchange reaches its deadline, its peer is silent for too long, or its idle time ends.
struct ActivityWatch {
    enum Verdict: Equatable {
        case wait
        case silent(TimeAmount)
        case late
        case restedEnough
    }

    private enum Mode {
        case exchange(idle: TimeAmount?, deadline: NIODeadline?)
        case rest(until: NIODeadline)
    }

    /// The minimum time that a new connection waits for its first exchange. The task that opened it may run on another thread.
    static let firstRest = TimeAmount.seconds(10)

    private var mode = Mode.exchange(idle: nil, deadline: nil)
    private var lastActivity = NIODeadline.uptimeNanoseconds(0)
    /// When the timer fires; nil if none is set.
    var scheduled: NIODeadline?

    mutating func begin(now: NIODeadline, idle: TimeAmount?, deadline: NIODeadline?) {
        mode = .exchange(idle: idle, deadline: deadline)
        lastActivity = now
    }

    mutating func rest(now: NIODeadline, keep: TimeAmount) {
        mode = .rest(until: now + keep)
    }

    mutating func recordActivity(now: NIODeadline) {
        lastActivity = now
    }

    /// The earliest instant at which ``check(now:isStalled:)`` can return anything but `wait`.
    var due: NIODeadline? {
        switch mode {
        case .rest(let until): until
        case .exchange(let idle, let deadline):
            switch (idle, deadline) {
            case (let idle?, let deadline?): min(lastActivity + idle, deadline)
            case (let idle?, nil): lastActivity + idle
            case (nil, let deadline): deadline
            }
        }
    }

    /// - Parameter isStalled: whether the caller causes the silence: it does not read, or has no next piece of the request's
    ///   body.
    mutating func check(now: NIODeadline, isStalled: Bool) -> Verdict {
        switch mode {
        case .rest(let until):
            return until <= now ? .restedEnough : .wait
        case .exchange(let idle, let deadline):
            if let deadline, deadline <= now { return .late }
            if isStalled { lastActivity = now }
            if let idle, lastActivity + idle <= now { return .silent(idle) }
            return .wait
        }
    }
}
