// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Limits frames that carry no data, such as SETTINGS, PING and empty DATA. Each is valid, but a flood of them costs only the
/// receiver.
struct HTTP2FloodGuard {
    /// The maximum number of such frames within ``period`` without progress.
    static let limit = 2_000
    static let period = TimeAmount.seconds(10)

    /// The maximum number of cancelled requests within ``period``, independent of progress: each one wastes work
    /// (CVE-2023-44487).
    static let cancellationLimit = 1_000

    private var count = 0
    private var cancellations = 0
    private var cancellationBegin = NIODeadline.uptimeNanoseconds(0)
    private var begin = NIODeadline.uptimeNanoseconds(0)

    /// Counts a frame that carries no data.
    ///
    /// - Throws: the error that ends the connection, if there are too many.
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

    /// Counts a request that the peer cancelled while it was being answered.
    ///
    /// - Throws: the error that ends the connection, if there are too many.
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

    /// Resets the count of frames without data, because a response or a body made progress.
    mutating func progress() {
        count = 0
    }
}
