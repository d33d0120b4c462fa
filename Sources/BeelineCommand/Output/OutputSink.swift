// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// The destination of a response: a file or standard output.
struct OutputSink {
    private let output: Transfer.Output
    private var file: FileDescriptor?
    /// The number of body bytes written.
    private(set) var written: Int64 = 0

    init(_ output: Transfer.Output) { self.output = output }

    /// Opens the file. Does nothing for standard output.
    mutating func open(_ mode: FileDescriptor.Mode) throws(CommandFailure) {
        guard case .file(let path) = output else { return }
        do {
            file = try FileDescriptor.open(path, mode)
        } catch {
            throw CommandFailure(.writeFailed, "the file \(path) cannot be written: \(error)")
        }
    }

    /// Writes a response head, which does not count towards `written`.
    func write(head: ByteBuffer) throws(CommandFailure) {
        do {
            try (file ?? .standardOutput).write(Array(head.readableBytesView))
        } catch {
            throw failure(error)
        }
    }

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
        let result = piece.withUnsafeReadableBytes { bytes in
            Result { () throws(FileDescriptor.Failure) in try (file ?? .standardOutput).write(bytes) }
        }
        guard case .failure(let error) = result else {
            written += Int64(piece.readableBytes)
            return
        }
        throw failure(error)
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
        switch output {
        case .file(let path): CommandFailure(.writeFailed, "the file \(path) cannot be written: \(error)")
        case .standardOutput: CommandFailure(standardOutput: error)
        }
    }
}
