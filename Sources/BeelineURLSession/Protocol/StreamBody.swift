// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import NIOCore

/// The bytes of an input stream, read as they are wanted.
struct StreamBody: AsyncSequence, Sendable {
    /// Gives the stream, each time that the body is read from its beginning.
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

/// Reads one input stream, on a queue of its own: a stream may block for as long as it likes.
///
/// `@unchecked Sendable`: after `init`, the stream is touched on `queue` alone.
final class StreamReader: @unchecked Sendable {
    private static let pieceSize = 64 * 1024

    private let stream: InputStream
    private let queue = DispatchQueue(label: "Beeline.StreamReader")

    init(_ stream: InputStream) {
        self.stream = stream
    }

    deinit {
        // Behind a read that may still be under way.
        let stream = OwnedStream(stream)
        queue.async { stream.close() }
    }

    /// The next piece; nil at the end. A reader who is cancelled leaves at once, even while the stream blocks.
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
        // `hasBytesAvailable` is true at the end of a file, and `streamError` traps on Linux where there is no error:
        // neither is asked before a read has failed.
        if count < 0 { throw stream.streamError ?? POSIXError(.EIO) }
        if count == 0, stream.streamStatus == .error { throw POSIXError(.EIO) }
        return count > 0 ? buffer : nil
    }
}

/// `@unchecked Sendable`: it carries a stream to the queue of a reader that is gone, and no one else has it.
private struct OwnedStream: @unchecked Sendable {
    private let stream: InputStream

    init(_ stream: InputStream) { self.stream = stream }

    func close() { stream.close() }
}
