// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Names

/// Parses `Retry-After` (RFC 9110 §10.2.3): seconds, or a date.
package enum RetryAfter {
    /// The wait that the server asks for; `nil` if the field is missing or not valid.
    ///
    /// - Parameters:
    ///   - fields: The fields of the response. A date is compared with the response's own `Date` if there is one, so that wrong
    ///     clocks do no harm.
    ///   - now: Seconds since 1970.
    package static func wait(_ fields: HTTPFields, now: Int64) -> Duration? {
        guard let text = fields[.retryAfter] else { return nil }
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            // A number that overflows counts as the longest wait.
            return .seconds(min(Int64(text) ?? .max, longest))
        }
        guard let date = HTTPDate.parse(text) else { return nil }
        let from = fields[.date].flatMap(HTTPDate.parse) ?? now
        return .seconds(min(max(0, date - from), longest))
    }

    /// The maximum: 100 years. A longer `Duration` could overflow in a multiplication.
    private static let longest: Int64 = 3_155_760_000
}
