// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import LibC
import Names

/// Reads standard input and the files that a command line names. Tests replace it.
struct InputFiles: Sendable {
    /// Reads a whole file; `-` is standard input.
    var contents: @Sendable (_ path: String) throws -> [UInt8]
    /// Returns the size of a regular file in bytes; nil for other or missing files.
    var size: @Sendable (_ path: String) -> Int64?
    /// Asks for a password on the terminal, or reads it from standard input without a terminal; nil if that is empty.
    var askPassword: @Sendable (_ prompt: String) -> [UInt8]?
    /// Returns whether the file may not be read, or a folder of its path may not be searched. Default: false.
    var isHidden: @Sendable (_ path: String) -> Bool = { _ in false }
    /// Returns when a file was modified, in seconds since 1970; nil for missing files. Default: nil.
    var modified: @Sendable (_ path: String) -> Int64? = { _ in nil }

    /// Returns whether a path is a pipe or a device, which can be read once. Default: false.
    var isPipe: @Sendable (_ path: String) -> Bool = { _ in false }

    /// Returns whether there is a folder at a path. Default: false.
    var isFolder: @Sendable (_ path: String) -> Bool = { _ in false }

    /// Returns whether a path belongs to another user. Default: false.
    var isOfOtherUser: @Sendable (_ path: String) -> Bool = { _ in false }

    /// Returns the user's home folder as the system knows it, for an environment without `HOME`. Default: nil.
    var home: @Sendable () -> String? = { nil }

    /// Reads the real file system.
    static let real = InputFiles(
        contents: { path in
            let file = path == "-" ? FileDescriptor.standardInput : try FileDescriptor.open(reading: path)
            defer { if path != "-" { try? file.close() } }
            return try file.readToEnd()
        },
        size: { path in FileDescriptor.size(of: path) },
        askPassword: { prompt in
            // Standard input may have data while the user is at the terminal.
            PasswordPrompt.ask(prompt) ?? InputFiles.passwordLine(prompt)
        },
        isHidden: { path in access(path, R_OK) != 0 && errno == EACCES },
        modified: { path in FileDescriptor.modified(path) },
        isPipe: { path in FileDescriptor.exists(path) && !FileDescriptor.isRegular(path) },
        isFolder: { path in FileDescriptor.isFolder(path) },
        isOfOtherUser: { path in FileKind.isOfOtherUser(path) },
        home: {
            guard let entry = getpwuid(getuid()), let path = entry.pointee.pw_dir else { return nil }
            return String(cString: path)
        }
    )

    /// Reads a line of standard input, as curl does without a terminal. One octet at a time, because the rest may be data.
    private static func passwordLine(_ prompt: String) -> [UInt8]? {
        try? FileDescriptor.standardError.write(prompt.utf8)
        // The line is not echoed, so that the next message would follow the prompt.
        defer { try? FileDescriptor.standardError.write("\n".utf8) }
        var line: [UInt8] = []
        while let octet = try? FileDescriptor.standardInput.read(atMost: 1).first {
            guard octet != UInt8(ascii: "\n") else { return line }
            // The limit of curl.
            guard line.count < 2_047 else { return nil }
            line.append(octet)
        }
        return line.isEmpty ? nil : line
    }

    /// Reads a whole file.
    ///
    /// - Throws: ``CommandFailure`` with the path in its message.
    func read(_ path: String) throws(CommandFailure) -> [UInt8] {
        do {
            return try contents(path)
        } catch {
            throw CommandFailure(.readFailed, "the file \(path) cannot be read: \(error)")
        }
    }

    /// Reads the file of a secret. The error does not contain the path, because some users write the secret itself by
    /// mistake.
    ///
    /// - Parameters:
    ///   - option: The option that names the file.
    ///   - form: The form of the option's value.
    func secretText(_ path: String, of option: String, form: String) throws(CommandFailure) -> String {
        let octets: [UInt8]
        do {
            octets = try contents(path)
        } catch {
            throw CommandFailure(.readFailed, "\(option): the file cannot be read: \(error); write \(form)")
        }
        // Replaced octets would be another secret, and one that can be guessed.
        guard let text = String(validUTF8: octets) else {
            throw CommandFailure(.usage, "\(option): the secret is not UTF-8; `openssl rand -hex 32` makes one that is")
        }
        return text
    }

    /// Reads a whole text file.
    ///
    /// - Parameter hasComments: whether lines that begin with `#` are comments, which may have any octets.
    /// - Throws: ``CommandFailure``; with status `usage` and the number of the line if it is not UTF-8. Replaced octets would be
    ///   other data.
    func text(_ path: String, hasComments: Bool = false) throws(CommandFailure) -> String {
        let octets = try read(path)
        if let text = String(validUTF8: octets) { return text }
        let lines = octets.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() where !(hasComments && line.first == UInt8(ascii: "#")) {
            guard String(validUTF8: Array(line)) == nil else { continue }
            throw CommandFailure(.usage, "\(path), line \(index + 1): the line is not UTF-8")
        }
        return String(decoding: octets, as: UTF8.self)
    }

    /// Reads a whole file whose data is ASCII. Its comments may have other octets; invalid UTF-8 becomes U+FFFD.
    func asciiText(_ path: String) throws(CommandFailure) -> String {
        String(decoding: try read(path), as: UTF8.self)
    }
}
