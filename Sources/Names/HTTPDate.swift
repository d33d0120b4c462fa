// SPDX-License-Identifier: Apache-2.0

/// The HTTP date formats (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT` and the two obsolete forms.
package enum HTTPDate {
    /// Reads any of the three forms. Returns seconds since 1970, or nil for any other text.
    package static func parse(_ text: String) -> Int64? {
        var words = text.split { $0 == " " || $0 == "," || $0 == "-" }[...]
        guard words.count == 5 || words.count == 6, words.removeFirst().allSatisfy(\.isLetter) else { return nil }
        let isAscTime = words.first.map { $0.first?.isLetter == true } ?? false
        let (day, month, year, time): (Substring, Substring, Substring, Substring)
        let parts = Array(words)
        if isAscTime {
            guard parts.count == 4 else { return nil }
            (month, day, time, year) = (parts[0], parts[1], parts[2], parts[3])
        } else {
            guard parts.count == 5, parts[4] == "GMT" else { return nil }
            (day, month, year, time) = (parts[0], parts[1], parts[2], parts[3])
        }
        let clock = time.split(separator: ":", omittingEmptySubsequences: false).map { number($0, 2...2) }
        guard let day = number(day, 1...2),
            let month = months.firstIndex(where: { $0.lowercased() == month.lowercased() }),
            let year = self.year(year), clock.count == 3, let hour = clock[0], let minute = clock[1],
            let second = clock[2], (1...31).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        let days = Calendar.daysSince1970(year: year, month: month + 1, day: day)
        return Int64(days) * 86_400 + Int64(hour * 3600 + minute * 60 + min(second, 59))
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func number(_ text: Substring, _ digits: ClosedRange<Int>) -> Int? {
        guard digits.contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text)
    }

    /// RFC 850 dates have a two-digit year. RFC 9110 §5.6.7 reads a year over 50 years ahead as past; this code instead reads
    /// 1970…2069 always.
    private static func year(_ text: Substring) -> Int? {
        if let year = number(text, 4...4) { return year >= 1601 ? year : nil }
        return number(text, 2...2).map { $0 < 70 ? 2000 + $0 : 1900 + $0 }
    }

    /// Reads the preferred form (IMF-fixdate) only, exactly as ``text(_:)`` writes it. Returns seconds since 1970, or nil for any
    /// other text, also a leap second. Services that sign their answers do not send the obsolete forms.
    package static func seconds(_ text: String) -> Int64? {
        parse(text).flatMap { $0 >= 0 && Self.text($0) == text ? $0 : nil }
    }

    /// Formats seconds since 1970 as an IMF-fixdate. Clamps the date to the years 1601 to 9999.
    package static func text(_ seconds: Int64) -> String {
        let first = Int64(Calendar.daysSince1970(year: 1601, month: 1, day: 1)) * 86_400
        let last = Int64(Calendar.daysSince1970(year: 10_000, month: 1, day: 1)) * 86_400 - 1
        let seconds = min(max(seconds, first), last)
        let days = Int(seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400)
        let rest = Int(seconds - Int64(days) * 86_400)
        let date = Calendar.date(daysSince1970: days)
        let two = { (number: Int) in number < 10 ? "0\(number)" : "\(number)" }
        let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][((days % 7) + 7) % 7]
        return "\(weekday), \(two(date.day)) \(months[date.month - 1]) \(date.year) "
            + "\(two(rest / 3600)):\(two(rest / 60 % 60)):\(two(rest % 60)) GMT"
    }
}
