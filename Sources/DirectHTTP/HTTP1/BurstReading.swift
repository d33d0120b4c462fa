// SPDX-License-Identifier: Apache-2.0

import NIOCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

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

    private(set) var isOn = false
    private var count = 0
    private var since = NIODeadline.uptimeNanoseconds(0)

    /// Bytes of a body came.
    ///
    /// - Parameter rest: how many are still to come; nil where that is not known, and then there are no bursts.
    mutating func received(_ bytes: Int, rest: Int64?, now: NIODeadline) -> Change? {
        // Twice the size, because TLS may have some of them already.
        guard let rest, rest >= 2 * Int64(Self.size) else { return end() }
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

extension BurstReading.Change {
    /// Makes the change.
    func apply(to channel: any Channel) {
        guard let options = channel.syncOptions else { return }
        let lowWater = ChannelOptions.socketOption(NIOBSDSocket.Option(rawValue: SO_RCVLOWAT))
        let size = BurstReading.size
        switch self {
        case .begin:
            try? options.setOption(lowWater, value: .init(size))
            // Two buffers take turns: more of them would not stay in the processor's cache.
            try? options.setOption(.maxMessagesPerRead, value: 2)
            let buffers = AdaptiveRecvByteBufferAllocator(minimum: 64, initial: size, maximum: size)
            try? options.setOption(.recvAllocator, value: buffers)
        case .end:
            try? options.setOption(lowWater, value: 1)
            try? options.setOption(.recvAllocator, value: AdaptiveRecvByteBufferAllocator())
            // The channel keeps as many buffers as it may read at a time: of the large ones it shall keep one.
            try? options.setOption(.maxMessagesPerRead, value: 1)
            try? options.setOption(.maxMessagesPerRead, value: 4)
        }
    }
}
