// SPDX-License-Identifier: Apache-2.0

/// Writes results to standard output. An error has exit code 23 and no message if the reader closed the pipe.
enum StandardOutput {
    static func write(_ octets: some Sequence<UInt8>) throws(CommandFailure) {
        do {
            try FileDescriptor.standardOutput.write(octets)
        } catch {
            throw CommandFailure(standardOutput: error)
        }
    }

    /// Writes octets from servers. On a terminal, replaces the C1 control characters that cookies may contain (U+0080 to
    /// U+009F), which can start control sequences.
    static func write(cookies octets: [UInt8]) throws(CommandFailure) {
        guard Terminal.standardOutput.isTerminal else { return try write(octets) }
        var text = ""
        for scalar in String(decoding: octets, as: UTF8.self).unicodeScalars {
            text.unicodeScalars.append((0x80...0x9f).contains(scalar.value) ? " " : scalar)
        }
        try write(text.utf8)
    }

    /// Writes a line with a line break.
    static func writeLine(_ line: some CustomStringConvertible) throws(CommandFailure) {
        try write("\(line)\n".utf8)
    }
}

extension CommandFailure {
    /// Makes a failure from a write error of standard output.
    init(standardOutput error: FileDescriptor.Failure) {
        self.init(.writeFailed, "standard output cannot be written: \(error)", isQuiet: error.isBrokenPipe)
    }
}
