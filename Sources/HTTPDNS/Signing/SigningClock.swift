// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOConcurrencyHelpers
import Names

/// The clock for signatures. If a service rejects a signature because the device's clock is wrong, this clock is set by
/// the service's `Date` field.
package final class SigningClock: Sendable {
    /// The device's time, in seconds since 1970.
    private let device: @Sendable () -> Int64
    /// The correction, in seconds. The lock guards only this value.
    private let offset = NIOLockedValueBox<Int64>(0)

    /// The maximum difference that does not cause a retry, in seconds.
    static let tolerance: Int64 = 5

    /// A clock that runs with the device's time.
    package init(_ device: @escaping @Sendable () -> Int64 = SigningClock.deviceTime) {
        self.device = device
    }

    /// Seconds since 1970.
    var now: Int64 { device() + offset.withLockedValue { $0 } }

    /// How far this clock is ahead of the device's, in seconds.
    var correction: Int64 { offset.withLockedValue { $0 } }

    /// Sets the clock by a reply's `Date` field.
    ///
    /// - Parameter used: The correction when the question was signed. Another question may have set the clock since.
    /// - Returns: Whether that correction was wrong, so that a retry may succeed.
    func correct(by reply: UpstreamReply, signedWith used: Int64) -> Bool {
        guard let date = reply.fields[.date].flatMap(HTTPDate.seconds) else { return false }
        let device = device()
        return offset.withLockedValue { offset in
            guard abs(date - device - used) > Self.tolerance else { return false }
            offset = date - device
            return true
        }
    }

    /// The system's time, in seconds since 1970.
    package static func deviceTime() -> Int64 { Timekeeper.secondsSince1970() }
}
