// SPDX-License-Identifier: Apache-2.0

/// A time on the resolver's clock: nanoseconds since the resolver began. Pure parts get it as `now`.
package struct Moment: Hashable, Comparable, Sendable {
    /// Nanoseconds since the beginning.
    package var nanoseconds: Int64

    /// A time so many nanoseconds after the beginning.
    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The time behind all others.
    package static let never = Moment(nanoseconds: .max)
    /// The time before all others.
    package static let past = Moment(nanoseconds: .min)

    package static func < (one: Moment, other: Moment) -> Bool {
        one.nanoseconds < other.nanoseconds
    }

    /// The time `duration` later; it stops at ``never``.
    package static func + (moment: Moment, duration: Duration) -> Moment {
        let (sum, overflow) = moment.nanoseconds.addingReportingOverflow(duration.nanoseconds)
        return overflow ? (duration.nanoseconds > 0 ? .never : .past) : Moment(nanoseconds: sum)
    }

    /// The time from `other` to `moment`, as near as 64 bits can hold it.
    package static func - (moment: Moment, other: Moment) -> Duration { .nanoseconds(moment.nanoseconds(since: other)) }

    /// Nanoseconds from `other` to this time, as near as 64 bits can hold it.
    package func nanoseconds(since other: Moment) -> Int64 {
        let (difference, overflow) = nanoseconds.subtractingReportingOverflow(other.nanoseconds)
        return overflow ? (self > other ? .max : .min) : difference
    }
}

extension Duration {
    /// The duration in nanoseconds, as near as 64 bits can hold it (292 years).
    package var nanoseconds: Int64 {
        if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) {
            // Four times as quick as what follows.
            let nanoseconds = attoseconds / 1_000_000_000
            return Int64(exactly: nanoseconds) ?? (nanoseconds > 0 ? .max : .min)
        }
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds > 0 ? .max : .min }
        let (sum, carry) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return carry ? (seconds > 0 ? .max : .min) : sum
    }
}
