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

/// An open file as a body, such as standard input. It is not closed.
struct DescriptorBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let descriptor: FileDescriptor

    func makeAsyncIterator() -> Iterator { Iterator(descriptor: descriptor) }

    /// Reads on NIO's thread pool, since a pipe may keep its reader waiting.
    struct Iterator: AsyncIteratorProtocol {
        private static let pieceSize = 128 * 1024

        fileprivate let descriptor: FileDescriptor

        mutating func next() async throws -> ByteBuffer? {
            let descriptor = descriptor
            let bytes = try await NIOThreadPool.singleton.runIfActive { try descriptor.read(atMost: Self.pieceSize) }
            return bytes.isEmpty ? nil : ByteBuffer(bytes: bytes)
        }
    }
}
