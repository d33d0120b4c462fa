// SPDX-License-Identifier: Apache-2.0

import Beeline
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Counts the body bytes passed to the connection. The count restarts when the body is sent again.
final class UploadMeter: Sendable {
    /// Guards the count.
    private let bytes = NIOLockedValueBox<Int64>(0)

    var count: Int64 { bytes.withLockedValue { $0 } }

    /// Returns the body with counting added.
    func counting(_ body: RequestBody) -> RequestBody {
        body.onProgress { [self] progress in bytes.withLockedValue { $0 = progress.transferred } }
    }
}

/// Streams a file descriptor as a body, for example standard input.
struct DescriptorBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    enum Source: Hashable, Sendable {
        /// Standard input, which stays open.
        case standardInput
        /// A file that is opened at the first read and closed at the end.
        case path(String)
        /// A file that is read from an offset.
        case tail(String, from: Int64)
    }

    private let source: Source

    init(_ source: Source) { self.source = source }

    func makeAsyncIterator() -> Iterator { Iterator(source) }

    /// Reads on NIO's thread pool, because a read from a pipe may block.
    final class Iterator: AsyncIteratorProtocol {
        private static let pieceSize = 128 * 1024

        private let source: Source
        private var open: FileDescriptor?

        fileprivate init(_ source: Source) { self.source = source }

        deinit { try? open?.close() }

        func next() async throws -> ByteBuffer? {
            let (source, known) = (source, open)
            let (file, bytes) = try await NIOThreadPool.singleton.runIfActive {
                let file: FileDescriptor =
                    switch source {
                    case .standardInput: .standardInput
                    case .path(let path): try known ?? FileDescriptor.open(reading: path)
                    case .tail(let path, let offset): try known ?? FileDescriptor.open(reading: path, from: offset)
                    }
                return (file, try file.read(atMost: Self.pieceSize))
            }
            if source != .standardInput { open = file }
            return bytes.isEmpty ? nil : ByteBuffer(bytes: bytes)
        }
    }
}
