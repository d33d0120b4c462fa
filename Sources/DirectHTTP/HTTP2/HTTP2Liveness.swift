// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Finds out whether the peer of a connection that fell silent is still there (RFC 9113 §6.7).
///
/// A connection that carries nothing is left alone. One that carries something is asked by PING when nothing was heard for
/// a while, or at once if it had rested that long; if nothing is heard then either, it is dead.
struct HTTP2Liveness {
    enum Verdict: Equatable {
        case alive
        case ping
        case dead
    }

    /// How long silence is no reason to ask; nil: never ask.
    let silence: TimeAmount?
    /// How long the answer may take.
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

    /// When ``check(now:)`` may say anything but `alive`; nil: never.
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
