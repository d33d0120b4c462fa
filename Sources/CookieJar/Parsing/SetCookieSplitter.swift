// SPDX-License-Identifier: Apache-2.0

/// Splits Set-Cookie header fields that were joined by commas, as Foundation's `allHeaderFields` joins them.
///
/// RFC 9110 §5.3 forbids the joining, because a comma may also stand in a date (`Expires=Wed, 09 Jun 2027`) and in a value. A
/// comma separates two cookies where what follows looks like the beginning of one: a token, then `=`. The comma after a day's
/// name in an Expires attribute separates nothing. A value that itself has a comma, a token and `=` in it looks like two
/// cookies: pass single fields where you can.
public enum SetCookieSplitter {
    /// The single fields, in their order, without the spaces around them.
    public static func split(_ joined: String) -> [String] {
        let joined = Array(joined.utf8)
        var ranges: [Range<Int>] = []
        var start = 0
        var attribute = 0
        for index in joined.indices {
            if joined[index] == .semicolon {
                attribute = index + 1
            } else if joined[index] == .comma, isStartOfCookie(joined[(index + 1)...]),
                !isDate(joined, attribute..<index)
            {
                ranges.append(joined.trimmed(start..<index))
                start = index + 1
                attribute = start
            }
        }
        ranges.append(joined.trimmed(start..<joined.count))
        return ranges.filter { !$0.isEmpty }.map { String(decoding: joined[$0], as: UTF8.self) }
    }

    /// Whether the octets begin with a token and `=`.
    private static func isStartOfCookie(_ octets: ArraySlice<UInt8>) -> Bool {
        let name = octets.drop(while: \.isWhitespace)
        let rest = name.drop(while: isToken)
        return rest.startIndex > name.startIndex && rest.first { !$0.isWhitespace } == .equals
    }

    /// Whether `Expires=` and a day's name stand at `range`: then the comma behind them belongs to the date.
    private static func isDate(_ joined: [UInt8], _ range: Range<Int>) -> Bool {
        guard let equals = joined.first(.equals, in: range) else { return false }
        let value = joined[joined.trimmed((equals + 1)..<range.upperBound)]
        return joined.isCaseInsensitively(Array("expires".utf8), at: joined.trimmed(range.lowerBound..<equals))
            && (3...9).contains(value.count) && value.allSatisfy(\.isLetter)
    }

    /// tchar of RFC 9110 §5.6.2.
    private static func isToken(_ octet: UInt8) -> Bool {
        octet.isLetter || octet.isDigit || "!#$%&'*+-.^_`|~".utf8.contains(octet)
    }
}
