// SPDX-License-Identifier: Apache-2.0

import Beeline
import Names

/// Parses the date of `-z` in the formats of HTTP, mail and ISO 8601, with the words in any order, as curl_getdate(3)
/// does.
struct DateExpression {
    private var year: Int?
    private var month: Int?
    private var day: Int?
    private var seconds: Int?
    /// The time zone as seconds east of Greenwich.
    private var zone: Int?

    /// Returns seconds since 1970; nil if the text is not a date.
    static func parse(_ text: String) -> Int64? {
        var expression = DateExpression()
        var rest = text[...]
        while true {
            rest = rest.drop { !isLetter($0) && !isDigit($0) && $0 != "+" && $0 != "-" }
            guard let first = rest.first else { break }
            let isWord = isLetter(first)
            let sign = first == "+" || first == "-" ? rest.removeFirst() : nil
            let word = rest.prefix { isWord ? isLetter($0) : isDigit($0) || $0 == ":" }
            rest = rest[word.endIndex...]
            guard !word.isEmpty else { continue }
            guard isWord ? expression.read(word: word) : expression.read(number: word, sign: sign) else { return nil }
        }
        return expression.seconds1970
    }

    // A date has ASCII letters and digits only. Another letter or digit would begin no word, and parsing would not
    // advance.
    private static func isLetter(_ character: Character) -> Bool { character.isASCII && character.isLetter }
    private static func isDigit(_ character: Character) -> Bool { character.isASCII && character.isWholeNumber }

    private var seconds1970: Int64? {
        guard let year, let month, let day, (1601...9999).contains(year), (1...12).contains(month),
            (1...31).contains(day)
        else { return nil }
        let days = Calendar.daysSince1970(year: year, month: month, day: day)
        return Int64(days) * 86_400 + Int64(seconds ?? 0) - Int64(zone ?? 0)
    }

    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    private static let weekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    /// Hours east of Greenwich.
    private static let zones = [
        "gmt": 0, "utc": 0, "ut": 0, "z": 0, "wet": 0, "bst": 1, "cet": 1, "met": 1, "cest": 2, "mest": 2, "eet": 2,
        "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7, "jst": 9,
    ]

    private mutating func read(word: Substring) -> Bool {
        let word = word.lowercased()
        if let index = Self.months.firstIndex(where: { word.hasPrefix($0) }), month == nil, word.count >= 3 {
            month = index + 1
        } else if Self.weekdays.contains(where: { word.hasPrefix($0) }) || word == "t" {
            return true
        } else if let hours = Self.zones[word], zone == nil {
            zone = hours * 3600
        } else {
            return false
        }
        return true
    }

    private mutating func read(number word: Substring, sign: Character?) -> Bool {
        if word.contains(":") { return read(clock: word) }
        guard word.count <= 8, let number = Int(word) else { return false }
        // A zone follows the time, or the whole date.
        if let sign, word.count == 4, seconds != nil || year != nil && day != nil, zone == nil {
            guard number <= 1400, number % 100 < 60 else { return false }
            let offset = (number / 100 * 60 + number % 100) * 60
            zone = sign == "-" ? -offset : offset
        } else if word.count == 8, year == nil {
            (year, month, day) = (number / 10_000, number / 100 % 100, number % 100)
        } else if word.count == 4, year == nil {
            year = number
        } else if word.count <= 2, year != nil, month == nil {
            // ISO 8601: year, month, day.
            month = number
        } else if word.count <= 2, day == nil, (1...31).contains(number) {
            day = number
        } else if word.count == 2, year == nil {
            year = number < 70 ? 2000 + number : 1900 + number
        } else {
            return false
        }
        return true
    }

    private mutating func read(clock word: Substring) -> Bool {
        let parts = word.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) ?? -1 }
        guard seconds == nil, (2...3).contains(parts.count), (0...23).contains(parts[0]), (0...59).contains(parts[1]),
            parts.count == 2 || (0...60).contains(parts[2])
        else { return false }
        seconds = (parts[0] * 60 + parts[1]) * 60 + (parts.count == 3 ? min(parts[2], 59) : 0)
        return true
    }
}

/// A condition of a request: `-z`.
struct TimeCondition: Hashable, Sendable {
    /// Seconds since 1970.
    let time: Int64
    /// Whether the resource is fetched only if it was not modified since the time (`-z -DATE`).
    let isUnmodified: Bool

    /// Adds the condition to a request (RFC 9110 §13.1.3, §13.1.4).
    func apply(to fields: inout HTTPFields) {
        fields[isUnmodified ? .ifUnmodifiedSince : .ifModifiedSince] = HTTPDate.text(time)
    }

    /// Whether a response meets the condition. Servers that ignore the condition send the resource anyway.
    func isMet(by fields: HTTPFields) -> Bool {
        guard let modified = fields[values: .lastModified].first.flatMap(DateExpression.parse) else { return true }
        return isUnmodified ? modified < time : modified > time
    }
}
