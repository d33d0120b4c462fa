// SPDX-License-Identifier: Apache-2.0

import LibC

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Standard output or standard error, with its terminal properties.
struct Terminal: Sendable {
    let descriptor: CInt
    let isTerminal: Bool
    /// Whether colours are used: on a terminal that supports them, unless `NO_COLOR` is set (no-color.org).
    let hasColours: Bool

    init(descriptor: CInt, isTerminal: Bool, environment: [String: String]) {
        self.descriptor = descriptor
        self.isTerminal = isTerminal
        hasColours =
            isTerminal && (environment["NO_COLOR"] ?? "").isEmpty && (environment["TERM"] ?? "dumb") != "dumb"
    }

    static let standardOutput = Terminal(STDOUT_FILENO)
    static let standardError = Terminal(STDERR_FILENO)

    private init(_ descriptor: CInt) {
        let environment = ProcessInfo.processInfo.environment
        self.init(descriptor: descriptor, isTerminal: isatty(descriptor) == 1, environment: environment)
    }

    /// The width in characters; 80 if unknown.
    var width: Int {
        var size = winsize()
        guard isTerminal, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    func red(_ text: String) -> String { hasColours ? "\u{1b}[31m\(text)\u{1b}[0m" : text }
    func dim(_ text: String) -> String { hasColours ? "\u{1b}[2m\(text)\u{1b}[0m" : text }

    /// Writes a text. Ignores errors, because there is no other place to report them.
    func write(_ text: String) {
        var text = text
        text.withUTF8 { _ = try? FileDescriptor(descriptor).write(UnsafeRawBufferPointer($0)) }
    }

    func writeLine(_ line: String) { write(line + "\n") }

    /// Prints a message of the command on one line of standard error.
    static func log(_ message: String) { standardError.writeLine("beeline: \(message.singleLine)") }
}
