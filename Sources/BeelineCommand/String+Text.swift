// SPDX-License-Identifier: Apache-2.0

extension Character {
    /// Whether this is a space or a tab.
    var isBlank: Bool { self == " " || self == "\t" }
}

extension StringProtocol {
    /// The text before and after the first of some ASCII characters; nil without one. Searches scalars, because a Character
    /// includes the combining characters after it.
    func cut(
        atFirst separators: String
    ) -> (head: SubSequence, separator: Unicode.Scalar, tail: SubSequence)? {
        guard let index = unicodeScalars.firstIndex(where: { separators.unicodeScalars.contains($0) }) else {
            return nil
        }
        return (self[..<index], unicodeScalars[index], self[unicodeScalars.index(after: index)...])
    }

    /// The text after a prefix; nil if it does not begin with the prefix.
    func dropping(prefix: String) -> SubSequence? { hasPrefix(prefix) ? dropFirst(prefix.count) : nil }

    /// The text without leading and trailing spaces and tabs.
    var trimmingBlanks: SubSequence {
        guard let start = firstIndex(where: { !$0.isBlank }), let end = lastIndex(where: { !$0.isBlank }) else {
            return self[startIndex..<startIndex]
        }
        return self[start...end]
    }
}

extension String {
    /// The text, padded on the left to a width.
    func leftPadded(to width: Int, with pad: Character = "0") -> String {
        String(repeating: pad, count: max(0, width - count)) + self
    }

    /// The text after the last slash of a path.
    var fileName: Substring {
        self[(unicodeScalars.lastIndex(of: "/").map(unicodeScalars.index(after:)) ?? startIndex)...]
    }

    /// The lines of a file, which end with LF or CRLF, without empty ones.
    var fileLines: [Substring] {
        unicodeScalars.split(separator: "\n").map { Substring($0.last == "\r" ? $0.dropLast() : $0) }
            .filter { !$0.isEmpty }
    }

    /// The text on one line. Each control character becomes a space, so that text from a server cannot forge output or move the
    /// cursor.
    var singleLine: String {
        guard unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else { return self }
        var line = ""
        for scalar in unicodeScalars {
            line.unicodeScalars.append(scalar.properties.generalCategory == .control ? " " : scalar)
        }
        return line
    }

    /// The text of a URL for messages, without a user and a password. Everything before the last `@` is hidden, because
    /// a password in a URL that is not valid may contain any character.
    var withoutLogin: String { lastIndex(of: "@").map { "…" + self[$0...] } ?? self }

    /// Whether the text begins with a scheme and `://`. A URL inside a path or query does not count.
    var hasScheme: Bool {
        firstRange(of: "://").map { mark in !self[..<mark.lowerBound].contains { "/?#".contains($0) } } ?? false
    }
}
