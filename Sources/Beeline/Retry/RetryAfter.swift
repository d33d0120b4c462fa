// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Names

/// `Retry-After` (RFC 9110 §10.2.3): seconds, or a date.
package enum RetryAfter {
    /// How long the server asks to wait; nil where it does not, or writes what is neither.
    ///
    /// - Parameters:
    ///   - fields: the response's fields. A date counts from the response's own `Date` where it has one, so that a clock
    ///     that is wrong on either side does no harm.
    ///   - now: seconds since 1970.
    package static func wait(_ fields: HTTPFields, now: Int64) -> Duration? {
        guard let text = fields[.retryAfter] else { return nil }
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            // More digits than fit are a very long time.
            return .seconds(min(Int64(text) ?? .max, longest))
        }
        guard let date = HTTPDate.parse(text) else { return nil }
        let from = fields[.date].flatMap(HTTPDate.parse) ?? now
        return .seconds(min(max(0, date - from), longest))
    }

    /// A hundred years: nobody waits longer, and more would not fit a `Duration` that is multiplied.
    private static let longest: Int64 = 3_155_760_000
}
