// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// How many questions that need an upstream a UDP socket starts at once.
///
/// Starting one takes about ten times as long as a known answer. The system keeps few datagrams that were not read, and
/// drops the others with the questions for cached names among them.
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
    /// The maximum number in a flood.
    static let startsInFlood = 1
    /// The number of held questions from which the socket can be flooded. In a flood, that many are started within
    /// about a second. Questions that are held for longer have no client any more.
    static let heldInFlood = 1_024
    /// The time for which a read that did not empty the socket counts.
    static let floodTime = TimeAmount.milliseconds(20)

    private var floodEnd = NIODeadline.uptimeNanoseconds(0)

    /// The number of datagrams after which a read has failed to end: before NIO closes a socket, it reads until the socket
    /// is empty, and runs nothing else meanwhile.
    static let maxRead = 4 * batch * callsPerRead

    /// Records the end of a read.
    mutating func readEnded(datagrams: Int, at now: NIODeadline) {
        if datagrams >= Self.batch * Self.callsPerRead { floodEnd = now + Self.floodTime }
    }

    /// Whether so many questions are held, and the socket was not empty after a recent read, that no further question
    /// should be held.
    func isFlooded(held: Int, at now: NIODeadline) -> Bool { held >= Self.heldInFlood && now < floodEnd }

    /// The maximum number of questions to start now.
    func starts(held: Int, at now: NIODeadline) -> Int {
        isFlooded(held: held, at: now) ? Self.startsInFlood : Self.starts
    }
}
