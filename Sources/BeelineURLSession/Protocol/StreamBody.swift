// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import NIOCore

/// The bytes of an input stream, read on demand.
struct StreamBody: AsyncSequence, Sendable {
    /// Opens the stream each time the body is read from its start.
    let open: @Sendable () async throws -> StreamReader

    struct AsyncIterator: AsyncIteratorProtocol {
        let open: @Sendable () async throws -> StreamReader
        var reader: StreamReader?

        mutating func next() async throws -> ByteBuffer? {
            let reader: StreamReader
            if let opened = self.reader { reader = opened } else { reader = try await open() }
            self.reader = reader
            return try await reader.next()
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(open: open) }
}

/// Reads an input stream on a queue of its own, because reads may block for any time.
///
/// `@unchecked Sendable`: after `init`, the stream is used only on `queue`.
final class StreamReader: @unchecked Sendable {
    private static let pieceSize = 64 * 1024

    private let stream: InputStream
    private let queue = DispatchQueue(label: "Beeline.StreamReader")

    init(_ stream: InputStream) {
        self.stream = stream
    }

    deinit {
        // Queued, because a read may still be running.
        let stream = OwnedStream(stream)
        queue.async { stream.close() }
    }

    /// The next piece; `nil` at the end. Cancellation returns at once, even while the stream blocks.
    func next() async throws -> ByteBuffer? {
        let piece = await firstAnswer { answer in
            queue.async { [self] in answer(Result { try read() }) }
        }
        guard let piece else { throw CancellationError() }
        return try piece.get()
    }

    private func read() throws -> ByteBuffer? {
        if stream.streamStatus == .notOpen { stream.open() }
        var buffer = ByteBufferAllocator().buffer(capacity: Self.pieceSize)
        var count = 0
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.pieceSize) { memory in
            let start = memory.assumingMemoryBound(to: UInt8.self).baseAddress
            count = start.map { stream.read($0, maxLength: Self.pieceSize) } ?? 0
            return Swift.max(count, 0)
        }
        // Check errors only after a failed read: `hasBytesAvailable` is true at the end of a file, and `streamError` traps on
        // Linux if there is no error.
        if count < 0 { throw stream.streamError ?? POSIXError(.EIO) }
        if count == 0, stream.streamStatus == .error { throw POSIXError(.EIO) }
        return count > 0 ? buffer : nil
    }
}

/// `@unchecked Sendable`: it moves a stream to the queue of a deallocated reader, and nothing else uses the stream.
private struct OwnedStream: @unchecked Sendable {
    private let stream: InputStream

    init(_ stream: InputStream) { self.stream = stream }

    func close() { stream.close() }
}
