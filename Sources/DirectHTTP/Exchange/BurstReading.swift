// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// When the socket of a large body that comes fast is read in bursts, so that neither the event loop nor the reader nor the sender
/// is woken for every few kilobytes.
///
/// Nobody waits longer for it: at the rate that it takes to begin, what the kernel holds back meanwhile is whole within
/// milliseconds; where the rate falls, the next ``check()`` ends it; and the end of a body is not read so.
struct BurstReading {
    /// What becomes of the socket.
    enum Change: Equatable {
        /// It waits for ``size`` bytes from now on, and ``check()`` is due after each ``period``.
        case begin
        /// It is read as it was.
        case end
    }

    /// The bytes of a burst.
    static let size = 256 * 1024
    /// How long the kernel may hold bytes back: the longest that the rate was not looked at.
    static let period = TimeAmount.milliseconds(10)
    /// What must come in a period, about 100 MB a second.
    static let threshold = 4 * size
    /// What is read of a body that comes fast has this many bytes or more. What is smaller, as most responses are, shall cost
    /// nothing.
    static let smallest = 16 * 1024

    /// Whether so much may wait for the reader that bursts fit in: one is read while another is taken.
    static func fits(_ bufferedBytes: Int) -> Bool { bufferedBytes >= 2 * size }

    private(set) var isOn = false
    private var count = 0
    private var since = NIODeadline.uptimeNanoseconds(0)

    /// Bytes of a body came.
    ///
    /// - Parameter rest: how many are still to come; nil where that is not known, and then there are no bursts.
    mutating func received(_ bytes: Int, rest: @autoclosure () -> Int64?, now: NIODeadline) -> Change? {
        guard bytes >= Self.smallest || isOn else { return nil }
        // Twice the size, because TLS may have some of them already.
        guard let rest = rest(), rest >= 2 * Int64(Self.size) else { return end() }
        if !isOn, now - since > Self.period {
            since = now
            count = 0
        }
        count += bytes
        guard !isOn, count >= Self.threshold else { return nil }
        isOn = true
        count = 0
        return .begin
    }

    /// A period is over.
    mutating func check() -> Change? {
        guard count < Self.threshold else {
            count = 0
            return nil
        }
        return end()
    }

    private mutating func end() -> Change? {
        count = 0
        guard isOn else { return nil }
        isOn = false
        return .end
    }
}
