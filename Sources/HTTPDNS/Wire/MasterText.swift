// SPDX-License-Identifier: Apache-2.0

/// Words in the text form of records (RFC 1035 §5.1).
package enum MasterText {
    /// Writes octets as one word, quoted if necessary.
    package static func word(_ octets: [UInt8]) -> String {
        let isPlain = octets.allSatisfy { (0x21...0x7e).contains($0) && !Array("\"();\\".utf8).contains($0) }
        return isPlain ? String(decoding: octets, as: UTF8.self) : quoted(octets[...])
    }

    /// Writes octets in quotation marks.
    package static func quoted(_ octets: ArraySlice<UInt8>) -> String {
        "\"\(octets.map { escaped($0, isPlain: isPlainInQuotes($0)) }.joined())\""
    }

    /// Writes an octet: as it is if it is plain, otherwise as `\X`, or as `\DDD` if it is not printable.
    static func escaped(_ octet: UInt8, isPlain: Bool) -> String {
        let sign = String(Unicode.Scalar(octet))
        if isPlain { return sign }
        if (0x21...0x7e).contains(octet) { return "\\" + sign }
        let digits = String(octet)
        return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
    }

    private static func isPlainInQuotes(_ octet: UInt8) -> Bool {
        (0x20...0x7e).contains(octet) && octet != UInt8(ascii: "\"") && octet != UInt8(ascii: "\\")
    }

    /// Whether a label in a zone file has this octet without a backslash. The others are not printable, or mean something
    /// there (RFC 1035 §5.1).
    static func isPlainInLabel(_ octet: UInt8) -> Bool {
        DNSName.isPlain(octet) && !"\"();@$".utf8.contains(octet)
    }

    /// The maximum length of a text, in octets. It is enough for a record with 65,535 octets, all written as `\DDD`,
    /// and some space.
    static let maxOctets = 4 * 65_536 + 4_096

    /// Splits one line into words, and resolves quotation marks, `\X` and `\DDD`. A quoted value of `key="…"` belongs to
    /// the word of its key (RFC 9460 §2.1). Nil if an escape or a quotation mark is incomplete, or the line is longer
    /// than ``maxOctets``.
    static func words(of line: String) -> [[UInt8]]? {
        guard line.utf8.count <= maxOctets else { return nil }
        var words: [[UInt8]] = []
        var word: [UInt8] = []
        // A quoted word may be empty.
        var isInWord = false
        var isQuoted = false
        var rest = Array(line.utf8)[...]
        while let octet = rest.popFirst() {
            switch octet {
            case UInt8(ascii: "\""):
                isQuoted.toggle()
                isInWord = true
            case UInt8(ascii: " ") where !isQuoted, UInt8(ascii: "\t") where !isQuoted:
                if isInWord { words.append(word) }
                word = []
                isInWord = false
            case UInt8(ascii: "\\"):
                guard let octet = takeEscaped(from: &rest) else { return nil }
                word.append(octet)
                isInWord = true
            default:
                word.append(octet)
                isInWord = true
            }
        }
        if isInWord { words.append(word) }
        return isQuoted ? nil : words
    }

    /// Takes what follows the backslash of `\X` or `\DDD`, and returns the octet that it stands for; nil if it is
    /// incomplete.
    package static func takeEscaped(from rest: inout ArraySlice<UInt8>) -> UInt8? {
        guard let first = rest.first else { return nil }
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return rest.popFirst() }
        guard rest.count >= 3, let number = UInt8(String(decoding: rest.prefix(3), as: UTF8.self)) else { return nil }
        rest = rest.dropFirst(3)
        return number
    }
}
