// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore

/// Limits frames that carry no data, such as SETTINGS, PING and empty DATA. A flood costs only the receiver.
struct HTTP2FloodGuard {
    /// The maximum number of such frames within ``period`` without progress.
    static let limit = 2_000
    static let period = TimeAmount.seconds(10)

    /// The maximum number of cancelled requests within ``period``. Each one wastes work (CVE-2023-44487).
    static let cancellationLimit = 1_000

    /// Counts events within ``period``.
    private struct Tally {
        var count = 0
        private var begin = NIODeadline.uptimeNanoseconds(0)

        mutating func add(now: NIODeadline) {
            if now - begin > HTTP2FloodGuard.period { (begin, count) = (now, 0) }
            count += 1
        }
    }

    private var emptyFrames = Tally()
    private var cancellations = Tally()

    /// Counts a frame that carries no data.
    ///
    /// - Throws: the error that ends the connection, if there are too many.
    mutating func countEmptyFrame(now: NIODeadline) throws(HTTP2ConnectionError) {
        emptyFrames.add(now: now)
        guard emptyFrames.count <= Self.limit else {
            throw HTTP2ConnectionError(.enhanceYourCalm, "a flood of frames without content")
        }
    }

    /// Counts a request that the peer cancelled while it was being answered.
    ///
    /// - Throws: the error that ends the connection, if there are too many.
    mutating func countCancellation(now: NIODeadline) throws(HTTP2ConnectionError) {
        cancellations.add(now: now)
        guard cancellations.count <= Self.cancellationLimit else {
            throw HTTP2ConnectionError(.enhanceYourCalm, "a flood of cancelled requests")
        }
    }

    /// Resets the count of frames without data, because a response or a body made progress.
    mutating func resetEmptyFrames() {
        emptyFrames.count = 0
    }
}
