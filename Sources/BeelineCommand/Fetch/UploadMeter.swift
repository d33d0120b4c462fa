// SPDX-License-Identifier: Apache-2.0

import Beeline
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Counts the bytes of a body that were handed to the connection; anew for a body that is sent again.
final class UploadMeter: Sendable {
    /// Guards the count.
    private let bytes = NIOLockedValueBox<Int64>(0)

    var count: Int64 { bytes.withLockedValue { $0 } }

    /// The body, counted while it is sent.
    func counting(_ body: RequestBody) -> RequestBody {
        body.onProgress { [self] progress in bytes.withLockedValue { $0 = progress.transferred } }
    }
}

/// A stream as a body, such as standard input.
struct DescriptorBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    enum Source: Hashable, Sendable {
        /// It is not closed.
        case standardInput
        /// It is opened when the first piece is wanted, and closed at its end.
        case path(String)
    }

    private let source: Source

    init(_ source: Source) { self.source = source }

    func makeAsyncIterator() -> Iterator { Iterator(source) }

    /// Reads on NIO's thread pool, since a pipe may keep its reader waiting.
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
                    }
                return (file, try file.read(atMost: Self.pieceSize))
            }
            if source != .standardInput { open = file }
            return bytes.isEmpty ? nil : ByteBuffer(bytes: bytes)
        }
    }
}
