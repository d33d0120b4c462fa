// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A point in time, in whole microseconds since 1 January 1970 UTC, without leap seconds.
public struct CookieTime: Hashable, Comparable, Sendable {
    /// Microseconds since 1970.
    package var microseconds: Int64

    /// Makes the time this many microseconds after 1970.
    package init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// Makes the time this many seconds after 1970, rounded to the microsecond. Values out of range are clamped.
    public init(secondsSince1970 seconds: Double) {
        microseconds = Int64(exactly: (seconds * 1e6).rounded()) ?? (seconds > 0 ? .max : .min)
    }

    /// Seconds since 1970.
    public var secondsSince1970: Double { Double(microseconds) / 1e6 }

    /// The current time of the system's clock.
    public static var now: CookieTime { CookieTime(secondsSince1970: Date().timeIntervalSince1970) }

    /// Earlier than every expiry. Marks an expired cookie (RFC 6265bis §5.6.2 step 7).
    public static let distantPast = CookieTime(microseconds: .min)
    /// Later than every expiry.
    public static let distantFuture = CookieTime(microseconds: .max)

    /// Whether a clock with this time may be right: it is not before 1 January 2026, when this code was written. On a device
    /// without a battery for its clock, it is 1970 until the clock is set. A clock that begins at a later date, such as that of
    /// the system's image, cannot be told from one that is right.
    package var isPlausible: Bool { microseconds >= 1_767_225_600_000_000 }

    /// Whether `left` is earlier than `right`.
    public static func < (left: CookieTime, right: CookieTime) -> Bool {
        left.microseconds < right.microseconds
    }

    /// The time `seconds` later, or earlier if negative. Clamped to the range.
    package func advanced(bySeconds seconds: Int64) -> CookieTime {
        let (span, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let (sum, over) = microseconds.addingReportingOverflow(overflow ? (seconds > 0 ? .max : .min) : span)
        return CookieTime(microseconds: over ? (seconds > 0 ? .max : .min) : sum)
    }

    /// Reads an ISO 8601 date and time, such as `2026-03-01T12:00:00.123Z`, and truncates it to whole seconds. Nil for other
    /// formats.
    init?(iso8601 text: String) {
        let style = Date.ISO8601FormatStyle()
        let fractional = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        guard let date = (try? style.parse(text)) ?? (try? fractional.parse(text)) else { return nil }
        self.init(secondsSince1970: date.timeIntervalSince1970.rounded(.down))
    }
}
