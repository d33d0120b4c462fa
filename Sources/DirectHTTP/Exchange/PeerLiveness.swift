// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Checks whether a silent peer is still alive: it is sent a PING after a time of silence (RFC 9113 §6.7, RFC 6455 §5.5.2). If it
/// stays silent after that, it is dead.
struct PeerLiveness {
    enum Verdict: Equatable {
        case alive
        case ping
        case dead
    }

    /// The time of silence before a PING; nil: no PING is sent.
    let pingAfter: TimeAmount?
    /// The maximum time to wait for an answer.
    let pingTimeout: TimeAmount
    private var lastReceived: NIODeadline
    private var asked: NIODeadline?
    /// Whether other bytes were on the way when the PING was written or last waited for. The PING waits behind them.
    private var isQueued = false

    init(pingAfter: TimeAmount?, pingTimeout: TimeAmount, now: NIODeadline) {
        self.pingAfter = pingAfter
        self.pingTimeout = pingTimeout
        lastReceived = now
    }

    mutating func recordReceived(now: NIODeadline) {
        lastReceived = now
        asked = nil
    }

    /// The earliest time at which ``check(now:)`` can return anything but `alive`; nil: never.
    var due: NIODeadline? {
        pingAfter.map { pingAfter in asked.map { $0 + pingTimeout } ?? lastReceived + pingAfter }
    }

    /// - Parameter progress: what was written and reached the peer, looked up now. On a slow line, a PING waits behind other bytes
    ///   in the kernel's send buffer. It has the time for its answer again while they leave.
    mutating func check(now: NIODeadline, progress: @autoclosure () -> SendProgress) -> Verdict {
        guard let due, due <= now else { return .alive }
        let progress = progress()
        defer { isQueued = progress.isBehind }
        guard let asked else {
            self.asked = now
            return .ping
        }
        guard isQueued, let move = progress.lastMove, move > asked else { return .dead }
        self.asked = now
        return .alive
    }
}
