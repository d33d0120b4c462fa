// SPDX-License-Identifier: Apache-2.0

/// Parts Set-Cookie header fields that somebody joined by commas, as Foundation's `allHeaderFields` does.
///
/// RFC 9110 §5.3 forbids the joining, for a comma may also stand in a date (`Expires=Wed, 09 Jun 2027`) and in a value. A
/// comma parts two cookies where what follows it looks like the beginning of one: a token, then `=`; and not where it is
/// the comma of a date, after a day's name in an Expires attribute. A value that itself has a comma, a token and `=` in it
/// cannot be told from two cookies: hand over single fields wherever they can be had.
public enum SetCookieSplitter {
    /// The single fields, in their order, without the spaces around them.
    public static func split(_ joined: String) -> [String] {
        joined.withOctets { octets in
            ranges(octets).map { String(decoding: octets[$0], as: UTF8.self) }
        }
    }

    /// Where the single fields are.
    static func ranges(_ joined: Octets) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        var start = 0
        var attribute = 0
        for index in joined.indices {
            if joined[index] == .semicolon {
                attribute = index + 1
            } else if joined[index] == .comma, isBetweenCookies(joined, index, attribute: attribute) {
                ranges.append(joined.trimmed(start..<index))
                start = index + 1
                attribute = start
            }
        }
        ranges.append(joined.trimmed(start..<joined.count))
        return ranges.filter { !$0.isEmpty }
    }

    private static func isBetweenCookies(_ joined: Octets, _ comma: Int, attribute: Int) -> Bool {
        var index = comma + 1
        while index < joined.count, joined[index].isWhitespace { index += 1 }
        let name = index
        while index < joined.count, isToken(joined[index]) { index += 1 }
        let isName = index > name
        while index < joined.count, joined[index].isWhitespace { index += 1 }
        guard isName, index < joined.count, joined[index] == .equals else { return false }
        return !isDate(joined, attribute..<comma)
    }

    /// Whether `Expires=` and a day's name stand at `range`: the comma behind them is the date's.
    private static func isDate(_ joined: Octets, _ range: Range<Int>) -> Bool {
        guard let equals = joined.first(.equals, in: range) else { return false }
        let name = joined.part(joined.trimmed(range.lowerBound..<equals))
        let value = joined.part(joined.trimmed((equals + 1)..<range.upperBound))
        return name.isCaseInsensitively("expires") && (3...9).contains(value.count) && value.allSatisfy(\.isLetter)
    }

    /// tchar of RFC 9110 §5.6.2.
    private static func isToken(_ octet: UInt8) -> Bool {
        octet.isLetter || octet.isDigit || "!#$%&'*+-.^_`|~".utf8.contains(octet)
    }
}
