// SPDX-License-Identifier: Apache-2.0

extension Duration {
    /// Makes the duration of an option; nil if the option is absent or 0, which is curl's value for the default.
    init?(seconds: Double?, option: String) throws(CommandFailure) {
        guard let seconds, seconds != 0 else { return nil }
        // 100 years, which fits into 64 bits of nanoseconds.
        let limit: Int64 = 3_155_760_000
        guard seconds > 0, seconds < Double(limit) else {
            // A whole number is shown without a fraction, as it was typed.
            let value = Int64(exactly: seconds).map { "\($0)" } ?? "\(seconds)"
            let bounds = seconds > 0 ? "less than \(limit)" : "0 or more"
            throw CommandFailure(.usage, "\(option) \(value): write a number of seconds, \(bounds)")
        }
        self = .nanoseconds(Int64(seconds * 1_000_000_000))
    }

    /// The duration in seconds.
    var seconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    /// The duration in seconds, rounded up, so that a fresh answer shows its original TTL.
    var wholeSeconds: Int64 { Int64(clamping: seconds.rounded(.up)) }

    /// The duration in milliseconds, rounded to three decimals.
    var milliseconds: Double { (seconds * 1e6).rounded() / 1e3 }

    /// The duration as `4.5 ms`; from 10 ms on without a fraction.
    var millisecondText: String {
        milliseconds < 10 ? "\((milliseconds * 10).rounded() / 10) ms" : "\(Int64(clamping: milliseconds)) ms"
    }
}
