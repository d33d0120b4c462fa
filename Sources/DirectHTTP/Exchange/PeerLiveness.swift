// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Checks whether a silent peer is still alive. After a time of silence, the peer gets a PING (RFC 9113 §6.7, RFC 6455
/// §5.5.2). If it stays silent, it counts as dead.
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
    /// Whether other bytes were still being sent when the PING was written, or at the last check.
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

    /// - Parameter progress: the progress of sending at this moment. On a slow line, a PING waits behind other bytes in
    ///   the kernel's send buffer. While these bytes still reach the peer, the time for its answer starts again.
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
