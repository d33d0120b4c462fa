// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOConcurrencyHelpers
import Names

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The time that signatures carry. A device whose clock is wrong could sign nothing that a service takes: when one
/// says so, the clock is set by the service's own `Date`.
final class SigningClock: Sendable {
    /// Seconds since 1970, by the device.
    private let device: @Sendable () -> Int64
    /// What to add. The lock guards this alone.
    private let offset = NIOLockedValueBox<Int64>(0)

    /// A difference that is no reason to sign anew, in seconds.
    static let tolerance: Int64 = 5

    init(_ device: @escaping @Sendable () -> Int64 = SigningClock.deviceTime) {
        self.device = device
    }

    /// Seconds since 1970.
    var now: Int64 { device() + offset.withLockedValue { $0 } }

    /// How far the clock is ahead of the device's, in seconds.
    var correction: Int64 { offset.withLockedValue { $0 } }

    /// Sets the clock by a reply's `Date`.
    ///
    /// - Parameter used: The correction with which the question was signed. Another question may have set the clock since.
    /// - Returns: Whether that correction was off, so that a question signed anew may be taken.
    func correct(by reply: UpstreamReply, signedWith used: Int64) -> Bool {
        guard let date = reply.fields[.date].flatMap(HTTPDate.seconds) else { return false }
        let device = device()
        return offset.withLockedValue { offset in
            guard abs(date - device - used) > Self.tolerance else { return false }
            offset = date - device
            return true
        }
    }

    /// What the system takes for the time.
    static func deviceTime() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec)
    }
}
