// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Checks whether a silent peer is still alive (RFC 9113 §6.7).
///
/// An idle connection is not checked. A connection with streams is sent a PING after a time of silence, or at once if it was idle
/// that long. If it stays silent after that, it is dead.
struct HTTP2Liveness {
    enum Verdict: Equatable {
        case alive
        case ping
        case dead
    }

    /// The time of silence before a PING; nil: no PING is sent.
    let silence: TimeAmount?
    /// The maximum time to wait for an answer.
    let patience: TimeAmount
    private var lastHeard: NIODeadline
    private var asked: NIODeadline?

    init(silence: TimeAmount?, patience: TimeAmount, now: NIODeadline) {
        self.silence = silence
        self.patience = patience
        lastHeard = now
    }

    mutating func hear(now: NIODeadline) {
        lastHeard = now
        asked = nil
    }

    /// The earliest time at which ``check(now:)`` can return anything but `alive`; nil: never.
    var due: NIODeadline? {
        silence.map { silence in asked.map { $0 + patience } ?? lastHeard + silence }
    }

    mutating func check(now: NIODeadline) -> Verdict {
        guard let due, due <= now else { return .alive }
        guard asked == nil else { return .dead }
        asked = now
        return .ping
    }
}
