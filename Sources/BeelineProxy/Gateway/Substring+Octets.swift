// SPDX-License-Identifier: Apache-2.0

/// Parts of a text by its octets. Characters are slow to find, and a combining character would hide the delimiter before it.
extension Substring {
    /// Whether the first octets are those of `text`.
    func beginsExactly(with text: String) -> Bool { utf8.starts(with: text.utf8) }

    /// Whether the last octets are those of `text`.
    func endsExactly(with text: String) -> Bool { utf8.suffix(text.utf8.count).elementsEqual(text.utf8) }

    /// The first range with the octets of an ASCII text; nil if there is none.
    func firstOctets(of text: String) -> Range<Index>? {
        guard let first = text.utf8.first else { return nil }
        var rest = utf8
        while let start = rest.firstIndex(of: first) {
            rest = rest[start...]
            if rest.starts(with: text.utf8) { return start..<rest.index(start, offsetBy: text.utf8.count) }
            rest = rest.dropFirst()
        }
        return nil
    }

    /// The text after its first octets, which must be ASCII.
    func droppingOctets(_ count: Int) -> Substring { self[utf8.index(startIndex, offsetBy: count)...] }

    /// The text without the blanks at its ends.
    var withoutBlanks: Substring {
        guard let first = utf8.firstIndex(where: { !$0.isBlank }), let last = utf8.lastIndex(where: { !$0.isBlank })
        else { return self[endIndex...] }
        return self[first..<utf8.index(after: last)]
    }

    /// The text up to and with the first of `quotes`, up to the same quote, and after it; nil if a quote is missing.
    func firstQuoted(by quotes: String = "\"") -> (before: Substring, value: Substring, after: Substring)? {
        guard let open = utf8.firstIndex(where: { quotes.utf8.contains($0) }) else { return nil }
        let start = utf8.index(after: open)
        guard let end = utf8[start...].firstIndex(of: utf8[open]) else { return nil }
        return (self[..<start], self[start..<end], self[utf8.index(after: end)...])
    }
}

extension UInt8 {
    /// Whether the octet is white space of XML and of playlists: a space, a tab, CR or LF.
    var isBlank: Bool { self == 0x20 || self == 0x09 || self == 0x0a || self == 0x0d }
}
