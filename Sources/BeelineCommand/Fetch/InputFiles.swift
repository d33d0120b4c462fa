// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The files that a command line names, and standard input: a plan reads them through this, so that tests need none.
struct InputFiles: Sendable {
    /// The whole of a file, or of standard input for `-`.
    var contents: @Sendable (_ path: String) throws -> [UInt8]
    /// The size of a regular file; nil for anything else, and where there is none.
    var size: @Sendable (_ path: String) -> Int64?
    /// Asks the person at the terminal for a password; nil where nobody is there.
    var askPassword: @Sendable (_ prompt: String) -> String?

    /// The files of this machine.
    static let real = InputFiles(
        contents: { path in
            let file = path == "-" ? FileDescriptor.standardInput : try FileDescriptor.open(reading: path)
            defer { if path != "-" { try? file.close() } }
            return try file.readToEnd()
        },
        size: { path in FileDescriptor.size(of: path) },
        askPassword: { prompt in
            guard isatty(STDIN_FILENO) == 1, let password = getpass(prompt) else { return nil }
            return String(cString: password)
        }
    )

    /// The whole of a file.
    ///
    /// - Throws: ``CommandFailure`` that names it.
    func read(_ path: String) throws(CommandFailure) -> [UInt8] {
        do {
            return try contents(path)
        } catch {
            throw CommandFailure(.readFailed, "the file \(path) cannot be read: \(error)")
        }
    }

    /// The whole of a text file; what is not UTF-8 becomes U+FFFD.
    func text(_ path: String) throws(CommandFailure) -> String { String(decoding: try read(path), as: UTF8.self) }
}
