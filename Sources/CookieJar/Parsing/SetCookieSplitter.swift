// SPDX-License-Identifier: Apache-2.0

/// Splits Set-Cookie header fields that were joined by commas, as Foundation's `allHeaderFields` joins them.
///
/// RFC 9110 §5.3 forbids joining these fields, because a comma can also occur in a date (`Expires=Wed, 09 Jun 2027`) and in a
/// value. A comma separates two cookies if a token and `=` follow it. The comma after the name of a day in an Expires attribute
/// does not separate cookies. A value that contains a comma, a token and `=` is split by mistake, so pass single fields where
/// possible.
public enum SetCookieSplitter {
    /// The single fields, in order, without surrounding spaces.
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

    /// Whether the octets start with a token and `=`.
    private static func isStartOfCookie(_ octets: ArraySlice<UInt8>) -> Bool {
        let name = octets.drop(while: \.isWhitespace)
        let rest = name.drop(while: isToken)
        return rest.startIndex > name.startIndex && rest.first { !$0.isWhitespace } == .equals
    }

    /// Whether `range` holds `Expires=` and the name of a day. The comma after it then belongs to the date.
    private static func isDate(_ joined: [UInt8], _ range: Range<Int>) -> Bool {
        guard let equals = joined.first(.equals, in: range) else { return false }
        let value = joined[joined.trimmed((equals + 1)..<range.upperBound)]
        return joined.isCaseInsensitively(Array("expires".utf8), at: joined.trimmed(range.lowerBound..<equals))
            && (3...9).contains(value.count) && value.allSatisfy(\.isLetter)
    }

    /// Whether the octet is a tchar of RFC 9110 §5.6.2.
    private static func isToken(_ octet: UInt8) -> Bool {
        octet.isLetter || octet.isDigit || "!#$%&'*+-.^_`|~".utf8.contains(octet)
    }
}
