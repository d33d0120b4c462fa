// SPDX-License-Identifier: Apache-2.0

/// Results, which go to standard output. An error is told with exit code 23, quietly where the reader of a pipe has left.
enum StandardOutput {
    /// Writes octets.
    static func write(_ octets: some Sequence<UInt8>) throws(CommandFailure) {
        do {
            try FileDescriptor.standardOutput.write(octets)
        } catch {
            throw CommandFailure(standardOutput: error)
        }
    }

    /// Writes octets that servers have set. A terminal gets none of the control characters that a cookie may have (U+0080 to
    /// U+009F, which begin control sequences, too).
    static func write(cookies octets: [UInt8]) throws(CommandFailure) {
        guard Terminal.standardOutput.isTerminal else { return try write(octets) }
        var text = ""
        for scalar in String(decoding: octets, as: UTF8.self).unicodeScalars {
            text.unicodeScalars.append((0x80...0x9f).contains(scalar.value) ? " " : scalar)
        }
        try write(text.utf8)
    }

    /// Writes a text and the end of its line.
    static func writeLine(_ line: some CustomStringConvertible) throws(CommandFailure) {
        try write("\(line)\n".utf8)
    }
}

extension CommandFailure {
    /// Standard output that takes nothing more.
    init(standardOutput error: FileDescriptor.Failure) {
        self.init(.writeFailed, "standard output cannot be written: \(error)", isQuiet: error.isBrokenPipe)
    }
}
