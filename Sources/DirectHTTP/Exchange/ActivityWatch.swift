// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// The time limits of an exchange: its deadline, and how long its peer may be silent.
struct ActivityWatch {
    private var idle: TimeAmount?
    private var deadline: NIODeadline?
    private var lastActivity = NIODeadline.uptimeNanoseconds(0)

    mutating func begin(now: NIODeadline, idle: TimeAmount?, deadline: NIODeadline?) {
        self.idle = idle
        self.deadline = deadline
        lastActivity = now
    }

    mutating func recordActivity(now: NIODeadline) {
        lastActivity = now
    }

    /// The earliest instant at which a limit can be reached; nil: never.
    var due: NIODeadline? {
        guard let idle else { return deadline }
        return deadline.map { min(lastActivity + idle, $0) } ?? lastActivity + idle
    }

    /// The error of an exchange that has reached a limit; nil if it may go on.
    ///
    /// - Parameters:
    ///   - isStalled: whether the caller does not read.
    ///   - lacksPiece: whether the request waits for the next piece of its body.
    ///   - isOnlyUploading: whether the response is complete, but not the request.
    ///   - lastMove: returns when bytes of the request last reached the peer within this time, if some were still on the
    ///     way. It needs a system call.
    mutating func error(
        now: NIODeadline,
        isStalled: Bool,
        lacksPiece: Bool,
        isOnlyUploading: Bool,
        lastMove: (TimeAmount) -> NIODeadline?
    ) -> DirectHTTPError? {
        if let deadline, deadline <= now { return .late }
        // While the next piece of the request's body is missing, the peer's silence is not an error. After the response it is
        // one: the source may wait for the end of the response, which waits for the source.
        if isStalled || lacksPiece && !isOnlyUploading { lastActivity = now }
        guard let idle, lastActivity + idle <= now else { return nil }
        if let move = lastMove(idle) {
            lastActivity = move
            return nil
        }
        return lacksPiece && isOnlyUploading ? .sourceSilent(for: idle) : .silent(for: idle)
    }
}
