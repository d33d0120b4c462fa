// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// The output of `-D`: the response heads of all transfers of a part, in the order in which the transfers end.
struct HeadDump: Hashable, Sendable {
    private enum Target: Hashable, Sendable {
        case standardOutput
        case standardError
        case file(String, createsFolders: Bool)
    }

    private let target: Target

    /// - Parameter text: the value of `-D`; `-` is standard output, `%` is standard error.
    init(_ text: String, createsFolders: Bool) {
        switch text {
        case "-": target = .standardOutput
        case "%": target = .standardError
        default: target = .file(text, createsFolders: createsFolders)
        }
    }

    /// Whether the output is standard output.
    var isStandardOutput: Bool { target == .standardOutput }

    /// Opens the output and empties a file. It stays open for all transfers, because closing a pipe would end its
    /// reader.
    func open() throws(CommandFailure) -> FileDescriptor {
        switch target {
        case .standardOutput: return .standardOutput
        case .standardError: return .standardError
        case .file(let path, let createsFolders):
            if createsFolders { try FileDescriptor.createFolders(of: path) }
            do {
                return try FileDescriptor.open(path, .truncate)
            } catch {
                throw CommandFailure(.writeFailed, "-D: the file \(path) cannot be written: \(error)")
            }
        }
    }

    /// Writes a head or trailers.
    func write(_ head: ByteBuffer, to file: FileDescriptor) throws(CommandFailure) {
        do {
            try file.write(Array(head.readableBytesView))
        } catch {
            switch target {
            case .standardOutput: throw CommandFailure(standardOutput: error)
            case .standardError: return
            case .file(let path, _):
                throw CommandFailure(.writeFailed, "-D: the file \(path) cannot be written: \(error)")
            }
        }
    }

    /// Closes a file that ``open()`` returned.
    func close(_ file: FileDescriptor) throws(CommandFailure) {
        guard case .file(let path, _) = target else { return }
        do {
            try file.close()
        } catch {
            throw CommandFailure(.writeFailed, "-D: the file \(path) cannot be written: \(error)")
        }
    }
}
