// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Counts the frames of a peer that bring nothing: SETTINGS, PING, empty DATA and the like are right one by one, and a
/// flood of them costs us and nobody else.
struct HTTP2FloodGuard {
    /// How many may come within ``period`` while nothing else does.
    static let limit = 2_000
    static let period = TimeAmount.seconds(10)

    /// Requests that may be taken back within ``period``, whatever else comes: each was work for nothing (CVE-2023-44487).
    static let cancellationLimit = 1_000

    private var count = 0
    private var cancellations = 0
    private var cancellationBegin = NIODeadline.uptimeNanoseconds(0)
    private var begin = NIODeadline.uptimeNanoseconds(0)

    /// Notes a frame that brings nothing.
    ///
    /// - Throws: where there are too many, what ends the connection.
    mutating func waste(now: NIODeadline) throws(HTTP2ConnectionError) {
        if now - begin > Self.period {
            begin = now
            count = 0
        }
        count += 1
        guard count <= Self.limit else {
            throw HTTP2ConnectionError(.enhanceYourCalm, "a flood of frames that bring nothing")
        }
    }

    /// Notes that the peer took a request back that was being answered.
    ///
    /// - Throws: where there are too many, what ends the connection.
    mutating func cancellation(now: NIODeadline) throws(HTTP2ConnectionError) {
        if now - cancellationBegin > Self.period {
            cancellationBegin = now
            cancellations = 0
        }
        cancellations += 1
        guard cancellations <= Self.cancellationLimit else {
            throw HTTP2ConnectionError(.enhanceYourCalm, "a flood of requests that are taken back")
        }
    }

    /// Notes that a response or a body went on.
    mutating func progress() {
        count = 0
    }
}
