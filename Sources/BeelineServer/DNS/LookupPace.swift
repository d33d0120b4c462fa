// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Limits the number of questions for upstreams that a UDP socket starts at once.
///
/// Starting one takes about ten times as long as a known answer. The system buffers few unread datagrams and drops the
/// others, including questions for cached names.
struct LookupPace {
    /// The maximum number of datagrams that one system call reads.
    static let batch: Int = {
        #if os(Linux)
        32
        #else
        // NIO reads one at a time on Apple's platforms.
        1
        #endif
    }()
    /// The number of system calls after which a read ends, so that the loop runs tasks.
    static let callsPerRead = 128 / batch
    /// The maximum number of questions that are started after a read, or after a pause without one.
    static let starts = 8
    /// The same maximum in a flood.
    static let startsInFlood = 1
    /// The minimum number of held questions in a flood. In a flood, that many are started within about a second. The
    /// clients of questions that are held for longer have given up.
    static let heldInFlood = 1_024
    /// How long a flood lasts after a read that did not empty the socket.
    static let floodTime = TimeAmount.milliseconds(20)

    private var floodEnd = NIODeadline.uptimeNanoseconds(0)

    /// The number of datagrams after which a read counts as endless: before NIO closes a socket, it reads until the
    /// socket is empty, and runs nothing else meanwhile.
    static let maxRead = 4 * batch * callsPerRead

    mutating func readEnded(datagrams: Int, at now: NIODeadline) {
        if datagrams >= Self.batch * Self.callsPerRead { floodEnd = now + Self.floodTime }
    }

    /// Whether no further question should be held: many are held, and a recent read did not empty the socket.
    func isFlooded(held: Int, at now: NIODeadline) -> Bool { held >= Self.heldInFlood && now < floodEnd }

    /// The maximum number of questions to start now.
    func starts(held: Int, at now: NIODeadline) -> Int {
        isFlooded(held: held, at: now) ? Self.startsInFlood : Self.starts
    }
}
