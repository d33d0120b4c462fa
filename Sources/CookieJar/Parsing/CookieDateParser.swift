// SPDX-License-Identifier: Apache-2.0

import Names

/// The cookie-date algorithm of RFC 6265bis §5.1.1, which accepts any order and punctuation.
struct CookieDateParser {
    private var time: (hour: Int, minute: Int, second: Int)?
    private var day: Int?
    private var month: Int?
    private var year: Int?

    /// The date at `range` of `text`. Nil if there is none.
    static func parse(_ text: [UInt8], _ range: Range<Int>) -> CookieTime? {
        var parser = CookieDateParser()
        // Step 1: tokens between delimiters.
        var start = range.lowerBound
        while start < range.upperBound {
            var end = start
            while end < range.upperBound, !isDelimiter(text[end]) { end += 1 }
            if end > start { parser.read(text, start..<end) }
            start = end + 1
        }
        return parser.result()
    }

    private static func isDelimiter(_ octet: UInt8) -> Bool {
        switch octet {
        case 0x09, 0x20...0x2f, 0x3b...0x40, 0x5b...0x60, 0x7b...0x7e: true
        default: false
        }
    }

    /// Step 2: takes a token as the first missing part of time, day, month and year whose format it has.
    private mutating func read(_ text: [UInt8], _ token: Range<Int>) {
        if time == nil, let found = Self.time(text, token) {
            time = found
        } else if day == nil, let found = Self.number(text, token, digits: 1...2) {
            day = found
        } else if month == nil, let found = Self.month(text, token) {
            month = found
        } else if year == nil, let found = Self.number(text, token, digits: 2...4) {
            year = found
        }
    }

    /// Steps 3 to 7.
    private func result() -> CookieTime? {
        guard let time, let day, let month, var year else { return nil }
        if (70...99).contains(year) { year += 1900 } else if (0...69).contains(year) { year += 2000 }
        guard year >= 1601, time.hour <= 23, time.minute <= 59, time.second <= 59,
            day >= 1, day <= Calendar.days(in: month, of: year)
        else { return nil }
        let days = Int64(Calendar.daysSince1970(year: year, month: month, day: day))
        let seconds = days * 86_400 + Int64(time.hour * 3600 + time.minute * 60 + time.second)
        return CookieTime(microseconds: seconds * 1_000_000)
    }

    /// Reads hms-time. The end of the token or a non-digit must follow.
    private static func time(_ text: [UInt8], _ token: Range<Int>) -> (hour: Int, minute: Int, second: Int)? {
        var rest = token
        guard let hour = takeNumber(text, &rest, digits: 1...2), takeColon(text, &rest),
            let minute = takeNumber(text, &rest, digits: 1...2), takeColon(text, &rest),
            let second = number(text, rest, digits: 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    /// Reads as many digits as `digits` allows. The end of the token or a non-digit must follow.
    private static func number(_ text: [UInt8], _ token: Range<Int>, digits: ClosedRange<Int>) -> Int? {
        var rest = token
        guard let value = takeNumber(text, &rest, digits: digits), rest.isEmpty || !text[rest.lowerBound].isDigit else {
            return nil
        }
        return value
    }

    /// Removes as many digits from the front of `rest` as `digits` allows.
    private static func takeNumber(_ text: [UInt8], _ rest: inout Range<Int>, digits: ClosedRange<Int>) -> Int? {
        var value = 0
        var end = rest.lowerBound
        while end < rest.upperBound, end - rest.lowerBound < digits.upperBound, text[end].isDigit {
            value = value * 10 + Int(text[end] - 0x30)
            end += 1
        }
        guard end - rest.lowerBound >= digits.lowerBound else { return nil }
        rest = end..<rest.upperBound
        return value
    }

    private static func takeColon(_ text: [UInt8], _ rest: inout Range<Int>) -> Bool {
        guard let first = rest.first, text[first] == .colon else { return false }
        rest = rest.dropFirst()
        return true
    }

    private static let months = Array("janfebmaraprmayjunjulaugsepoctnovdec".utf8)

    private static func month(_ text: [UInt8], _ token: Range<Int>) -> Int? {
        guard token.count >= 3 else { return nil }
        return (0..<12).first { month in
            (0..<3).allSatisfy { text[token.lowerBound + $0].lowercased == months[month * 3 + $0] }
        }.map { $0 + 1 }
    }
}

extension CookieTime {
    /// Reads the date of an Expires attribute, in any order and punctuation that RFC 6265bis §5.1.1 allows. Nil if there is none.
    package init?(cookieDate text: String) {
        let octets = Array(text.utf8)
        guard let time = CookieDateParser.parse(octets, octets.indices) else { return nil }
        self = time
    }
}
