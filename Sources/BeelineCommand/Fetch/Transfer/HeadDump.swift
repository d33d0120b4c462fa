// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// The output of `-D`: the response heads of all transfers of a part, in the order in which the transfers end.
struct HeadDump: Hashable, Sendable {
    /// The value of `-D`: a path, `-` for standard output, or `%` for standard error.
    let path: String
    /// `--create-dirs`.
    let createsFolders: Bool

    var isStandardOutput: Bool { path == "-" }
    private var isStandardError: Bool { path == "%" }

    /// Opens the output and empties a file. It stays open for all transfers, because closing a pipe would end its
    /// reader.
    func open() throws(CommandFailure) -> FileDescriptor {
        if isStandardOutput { return .standardOutput }
        if isStandardError { return .standardError }
        if createsFolders { try FileDescriptor.createFolders(of: path) }
        do {
            return try FileDescriptor.open(path, .truncate)
        } catch {
            throw failure(error)
        }
    }

    /// Writes a head or trailers.
    func write(_ head: ByteBuffer, to file: FileDescriptor) throws(CommandFailure) {
        do {
            try file.write(Array(head.readableBytesView))
        } catch {
            // There is no other place to report an error of standard error.
            if !isStandardError { throw failure(error) }
        }
    }

    /// Closes a file that ``open()`` returned.
    func close(_ file: FileDescriptor) throws(CommandFailure) {
        guard !isStandardOutput, !isStandardError else { return }
        do {
            try file.close()
        } catch {
            throw failure(error)
        }
    }

    private func failure(_ error: FileDescriptor.Failure) -> CommandFailure {
        isStandardOutput
            ? CommandFailure(standardOutput: error)
            : CommandFailure(.writeFailed, "-D: the file \(path) cannot be written: \(error)")
    }
}
