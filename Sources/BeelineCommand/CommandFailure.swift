// SPDX-License-Identifier: Apache-2.0

/// Why the command failed: an exit code, and one line that says what failed, where, and what to try.
struct CommandFailure: Error, Hashable, Sendable, CustomStringConvertible {
    let status: CommandStatus
    /// One line without line breaks.
    let message: String
    /// Whether nothing is printed: the reader of our output has left, as `head` does, and knows.
    let isQuiet: Bool

    init(_ status: CommandStatus, _ message: String, isQuiet: Bool = false) {
        self.status = status
        self.message = message.singleLine
        self.isQuiet = isQuiet
    }

    /// `(7) cannot connect to …`.
    var description: String { "(\(status.rawValue)) \(message)" }

    /// Prints it on standard error, as curl does.
    func print() {
        guard !isQuiet else { return }
        Terminal.standardError.writeLine("\(Terminal.standardError.red("beeline:")) \(self)")
    }
}

extension String {
    /// The text on one line: what would break it or move the cursor is replaced, so that what a server wrote can forge
    /// nothing.
    var singleLine: String {
        guard unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else { return self }
        var line = ""
        for scalar in unicodeScalars {
            line.unicodeScalars.append(scalar.properties.generalCategory == .control ? " " : scalar)
        }
        return line
    }

    /// Whether the text begins with a scheme and `://`. A path or query may hold another URL.
    var hasScheme: Bool {
        firstRange(of: "://").map { mark in !self[..<mark.lowerBound].contains { "/?#".contains($0) } } ?? false
    }
}
