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
