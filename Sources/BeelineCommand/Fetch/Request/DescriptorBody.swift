// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix

/// Streams a file descriptor as a body, for example standard input.
struct DescriptorBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    enum Source: Hashable, Sendable {
        /// Standard input, which stays open.
        case standardInput
        /// A file that is opened at the first read and closed at the end.
        case path(String)
        /// At most `length` bytes of a file from an offset. The file may have grown since its size was announced.
        case tail(String, from: Int64, length: Int64)
    }

    private let source: Source

    init(_ source: Source) { self.source = source }

    func makeAsyncIterator() -> Iterator { Iterator(source) }

    /// Reads on NIO's thread pool, because a read from a pipe may block.
    final class Iterator: AsyncIteratorProtocol {
        private static let pieceSize = 128 * 1024

        private let source: Source
        /// The opened file, which is closed at the end; nil for standard input.
        private var open: FileDescriptor?
        /// The number of bytes that may still be read.
        private var left: Int64

        fileprivate init(_ source: Source) {
            self.source = source
            left = if case .tail(_, _, let length) = source { length } else { .max }
        }

        deinit { try? open?.close() }

        func next() async throws -> ByteBuffer? {
            let (source, limit) = (source, Int(Swift.min(left, Int64(Self.pieceSize))))
            guard limit > 0 else { return nil }
            if open == nil, source != .standardInput {
                open = try await NIOThreadPool.singleton.runIfActive { try Self.opened(source) }
            }
            let file = open ?? .standardInput
            let bytes = try await NIOThreadPool.singleton.runIfActive { try file.read(atMost: limit) }
            left -= Int64(bytes.count)
            return bytes.isEmpty ? nil : ByteBuffer(bytes: bytes)
        }

        private static func opened(_ source: Source) throws(FileDescriptor.Failure) -> FileDescriptor {
            switch source {
            case .standardInput: .standardInput
            case .path(let path): try FileDescriptor.open(reading: path)
            case .tail(let path, let offset, _): try FileDescriptor.open(reading: path, from: offset)
            }
        }
    }
}
