// SPDX-License-Identifier: Apache-2.0

import Names

/// The cookie-date algorithm of RFC 6265bis §5.1.1, which reads dates of any order and punctuation.
struct CookieDateParser {
    private var time: (hour: Int, minute: Int, second: Int)?
    private var day: Int?
    private var month: Int?
    private var year: Int?

    /// The date in `text`; nil where there is none.
    static func parse(_ text: Octets) -> CookieTime? {
        var parser = CookieDateParser()
        var start = 0
        // Step 1: tokens between delimiters.
        while start < text.count {
            guard !isDelimiter(text[start]) else {
                start += 1
                continue
            }
            var end = start
            while end < text.count, !isDelimiter(text[end]) { end += 1 }
            parser.token(text.part(start..<end))
            start = end
        }
        return parser.result()
    }

    private static func isDelimiter(_ octet: UInt8) -> Bool {
        switch octet {
        case 0x09, 0x20...0x2f, 0x3b...0x40, 0x5b...0x60, 0x7b...0x7e: true
        default: false
        }
    }

    /// Step 2: a token is the first of time, day, month and year that it can be and that is still missing.
    private mutating func token(_ token: Octets) {
        if time == nil, let found = Self.time(token) {
            time = found
        } else if day == nil, let found = Self.number(token, digits: 1...2) {
            day = found
        } else if month == nil, let found = Self.month(token) {
            month = found
        } else if year == nil, let found = Self.number(token, digits: 2...4) {
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
        let days = Calendar.daysSince1970(year: year, month: month, day: day)
        let seconds = days * 86400 + time.hour * 3600 + time.minute * 60 + time.second
        return CookieTime(microseconds: Int64(seconds) * 1_000_000)
    }

    /// hms-time, then the end or a character that is not a digit.
    private static func time(_ token: Octets) -> (hour: Int, minute: Int, second: Int)? {
        var fields = (0, 0, 0)
        var index = 0
        for field in 0..<3 {
            if field > 0 {
                guard index < token.count, token[index] == .colon else { return nil }
                index += 1
            }
            let start = index
            var value = 0
            while index < token.count, index - start < 2, token[index].isDigit {
                value = value * 10 + Int(token[index] - 0x30)
                index += 1
            }
            guard index > start else { return nil }
            switch field {
            case 0: fields.0 = value
            case 1: fields.1 = value
            default: fields.2 = value
            }
        }
        return index < token.count && token[index].isDigit ? nil : fields
    }

    /// As many digits as `digits` allows, then the end or a character that is not a digit.
    private static func number(_ token: Octets, digits: ClosedRange<Int>) -> Int? {
        var value = 0
        var count = 0
        while count < token.count, token[count].isDigit {
            guard count < digits.upperBound else { return nil }
            value = value * 10 + Int(token[count] - 0x30)
            count += 1
        }
        return digits.contains(count) ? value : nil
    }

    private static let months: StaticString = "janfebmaraprmayjunjulaugsepoctnovdec"

    private static func month(_ token: Octets) -> Int? {
        guard token.count >= 3 else { return nil }
        let (first, second, third) = (token[0].lowercased, token[1].lowercased, token[2].lowercased)
        return (0..<12).first { index in
            let name = months.utf8Start + index * 3
            return name[0] == first && name[1] == second && name[2] == third
        }.map { $0 + 1 }
    }
}

extension CookieTime {
    /// Reads a date as the Expires attribute has it, in any order and punctuation that RFC 6265bis §5.1.1 allows; nil
    /// where there is none.
    public init?(cookieDate text: String) {
        guard let time = text.withOctets({ CookieDateParser.parse($0) }) else { return nil }
        self = time
    }
}
