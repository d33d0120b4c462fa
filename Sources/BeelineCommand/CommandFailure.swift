// SPDX-License-Identifier: Apache-2.0

/// The reason for a failed command: an exit code and a one-line message that names the failure, its place and a remedy.
struct CommandFailure: Error, Hashable, Sendable, CustomStringConvertible {
    let status: CommandStatus
    /// One line without line breaks.
    let message: String
    /// Whether nothing is printed, because the reader of standard output has closed the pipe, as `head` does.
    let isQuiet: Bool

    init(_ status: CommandStatus, _ message: String, isQuiet: Bool = false) {
        self.status = status
        self.message = message.singleLine
        self.isQuiet = isQuiet
    }

    /// `(7) cannot connect to …`.
    var description: String { "(\(status.rawValue)) \(message)" }

    /// Prints the failure on standard error in curl's format.
    func print() {
        guard !isQuiet else { return }
        Terminal.standardError.writeLine("\(Terminal.standardError.red("beeline:")) \(self)")
    }
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
}

extension String {
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
