// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// The destination of a response: a file, standard output or nothing. The first bytes open the file, so a request that
/// fails does not change an earlier file.
struct OutputSink {
    /// The options for output files of one part of a command line.
    struct Rules: Hashable, Sendable {
        /// `--output-dir`.
        var folder: String?
        /// `--create-dirs`.
        var createsFolders = false
        /// `--clobber` and `--no-clobber`. Nil: files are overwritten, except files that the server names.
        var clobbers: Bool?
        /// `-J`.
        var usesHeaderName = false
        /// `--create-file-mode`.
        var permissions: UInt16 = 0o666
    }

    /// The largest number that `--no-clobber` tries.
    static let maxNumber = 100

    private let output: Transfer.Output
    private let rules: Rules
    /// The number of bytes of the file to keep from before this transfer; nil replaces the file.
    private var offset: Int64?
    private var file: FileDescriptor?
    /// The path of the file; nil for other destinations. It changes with the response's file name and with `--no-clobber`.
    private(set) var path: String?
    private var isNamedByServer = false
    /// Whether the file was opened.
    private(set) var wasOpened = false
    /// The number of body bytes written.
    private(set) var written: Int64 = 0
    /// The number of bytes written, heads included.
    private var delivered: Int64 = 0

    /// - Parameter offset: the number of bytes of the file to keep and to append to.
    init(_ output: Transfer.Output, rules: Rules = Rules(), offset: Int64? = nil) {
        (self.output, self.rules, self.offset) = (output, rules, offset)
        switch output {
        case .file(let name), .remoteFile(let name): path = Self.path(name, rules)
        case .standardOutput, .nothing: path = nil
        }
    }

    private static func path(_ name: String, _ rules: Rules) -> String {
        rules.folder.map { $0.isEmpty ? name : "\($0)/\(name)" } ?? name
    }

    /// Whether the output can be written again from its start, because it is a regular file.
    var canTakeBack: Bool { path.map(FileDescriptor.isRegular) ?? false }

    /// Uses the file name from the response (`-J`). This name never chooses a file to append to.
    mutating func take(disposition: String?, location: String?) {
        guard rules.usesHeaderName, case .remoteFile = output, file == nil, offset == nil,
            let name = OutputName.given(disposition: disposition, location: location)
        else { return }
        path = Self.path(name, rules)
        isNamedByServer = true
    }

    /// Opens the file if it is not open. Does nothing for other destinations.
    mutating func open() throws(CommandFailure) {
        guard let path, file == nil else { return }
        defer { wasOpened = wasOpened || file != nil }
        if rules.createsFolders { try FileDescriptor.createFolders(of: path) }
        do throws(FileDescriptor.Failure) {
            if offset != nil {
                file = try FileDescriptor.open(path, .append, permissions: rules.permissions)
            } else if rules.clobbers ?? !isNamedByServer {
                file = try FileDescriptor.open(path, .truncate, permissions: rules.permissions)
            } else {
                try openNew(path)
            }
        } catch {
            throw CommandFailure(.writeFailed, "the file \(path) cannot be written: \(error)")
        }
    }

    /// Opens a file that does not exist yet. If it exists, `--no-clobber` appends a number to the name.
    private mutating func openNew(_ path: String) throws(FileDescriptor.Failure) {
        for number in 0...Self.maxNumber {
            let name = number == 0 ? path : "\(path).\(number)"
            do throws(FileDescriptor.Failure) {
                file = try FileDescriptor.open(name, .new, permissions: rules.permissions)
                self.path = name
                return
            } catch {
                guard error.isOfExistingFile, rules.clobbers == false, number < Self.maxNumber else { throw error }
            }
        }
    }

    /// Writes a response head or trailers, which do not count towards `written`.
    mutating func write(head: ByteBuffer) throws(CommandFailure) { try put(head) }

    /// Writes a piece of the body.
    mutating func write(_ piece: ByteBuffer) throws(CommandFailure) {
        if output == .standardOutput(isNamed: false), written == 0, Terminal.standardOutput.isTerminal,
            piece.readableBytesView.contains(0)
        {
            throw CommandFailure(
                .writeFailed,
                "the body is binary: write it to a file with -o FILE, or to the terminal with -o -"
            )
        }
        // A piece may be written in part.
        let before = delivered
        defer { written += delivered - before }
        try put(piece)
    }

    private mutating func put(_ bytes: ByteBuffer) throws(CommandFailure) {
        try open()
        guard output != .nothing else {
            delivered += Int64(bytes.readableBytes)
            return
        }
        let target = file ?? .standardOutput
        let result = bytes.withUnsafeReadableBytes { bytes in
            Result { () throws(FileDescriptor.Failure) in try target.write(bytes) }
        }
        switch result {
        case .success: delivered += Int64(bytes.readableBytes)
        case .failure(let error):
            delivered += Int64(error.written)
            throw failure(error)
        }
    }

    /// Removes the written bytes before another attempt. As in curl, heads without a body stay. Standard output, pipes
    /// and devices keep everything.
    mutating func takeBack() throws(CommandFailure) {
        let hadBody = written > 0
        written = 0
        guard let file, canTakeBack, hadBody else { return }
        delivered = 0
        do {
            try file.truncate(to: offset ?? 0)
        } catch {
            throw failure(error)
        }
    }

    /// Keeps the written bytes before another attempt, and returns the size of the file.
    mutating func keep() -> Int64 {
        let size = (offset ?? 0) + delivered
        offset = size
        (written, delivered) = (0, 0)
        return size
    }

    /// Removes the bytes that ``keep()`` kept, because the next attempt writes the whole body.
    mutating func startOver() throws(CommandFailure) {
        offset = 0
        do {
            try file?.truncate(to: 0)
        } catch {
            throw failure(error)
        }
    }

    /// Closes the file. A full disk may be reported only here.
    mutating func close() throws(CommandFailure) {
        guard let open = file else { return }
        file = nil
        do {
            try open.close()
        } catch {
            throw failure(error)
        }
    }

    private func failure(_ error: FileDescriptor.Failure) -> CommandFailure {
        path.map { CommandFailure(.writeFailed, "the file \($0) cannot be written: \(error)") }
            ?? CommandFailure(standardOutput: error)
    }
}
