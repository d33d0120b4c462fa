// SPDX-License-Identifier: Apache-2.0

/// The date of HTTP's header fields.
enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// The seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7); nil for anything else, the two
    /// obsolete forms included: a service that still sends those has no signatures to check.
    static func seconds(_ text: String) -> Int64? {
        let parts = text.split(whereSeparator: { $0 == " " || $0 == ":" })
        guard parts.count == 8, parts[7] == "GMT", let month = months.firstIndex(of: String(parts[2])),
            let day = Int64(parts[1]), let year = Int64(parts[3]), let hour = Int64(parts[4]),
            let minute = Int64(parts[5]), let second = Int64(parts[6]),
            (1...31).contains(day), (1970...9999).contains(year), (0...23).contains(hour), (0...59).contains(minute),
            (0...60).contains(second)
        else { return nil }
        // Days from 1970-01-01, counting years from March so that the leap day is the last.
        let number = Int64(month + 1)
        let y = number > 2 ? year : year - 1
        let era = y / 400
        let yearOfEra = y - era * 400
        let dayOfYear = (153 * (number + (number > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        return days * 86_400 + hour * 3_600 + minute * 60 + second
    }
}
