// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import NIOConcurrencyHelpers
import NIOCore

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

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
/// A cancelled reader closes its stream, which ends a blocked read of most streams. A thread that reads from a named pipe on
/// Linux is blocked until the pipe's writer ends.
///
/// `@unchecked Sendable`: after `init`, the stream is used only on `queue`, and closed on `closing` while it blocks there.
/// `hasOpened` is used only on `queue`.
final class StreamReader: @unchecked Sendable {
    private static let pieceSize = 64 * 1024
    /// Closes blocked streams. One queue for all, so that streams that block in `close` block only one thread.
    private static let closing = DispatchQueue(label: "Beeline.StreamReader.closing")

    private struct State {
        var isReading = false
        var isCancelled = false
        var isClosed = false
    }

    private let stream: InputStream
    private var hasOpened = false
    private let queue = DispatchQueue(label: "Beeline.StreamReader")
    private let state = NIOLockedValueBox(State())

    init(_ stream: InputStream) {
        self.stream = stream
    }

    deinit {
        guard hasOpened, !state.withLockedValue({ $0.isClosed }) else { return }
        // Queued, because a read may still be running.
        let stream = OwnedStream(stream)
        queue.async { stream.close() }
    }

    /// The next piece; `nil` at the end. Cancellation returns at once, even while the stream blocks.
    func next() async throws -> ByteBuffer? {
        let piece = await withTaskCancellationHandler {
            await firstAnswer { answer in
                queue.async { [self] in answer(Result { try readUnlessCancelled() }) }
            }
        } onCancel: {
            cancel()
        }
        guard let piece else { throw CancellationError() }
        return try piece.get()
    }

    /// Ends the reading, also a read that blocks.
    private func cancel() {
        let mayClose = state.withLockedValue { state in
            state.isCancelled = true
            guard state.isReading, !state.isClosed, canCloseWhileReading else { return false }
            state.isClosed = true
            return true
        }
        guard mayClose else { return }
        let stream = OwnedStream(stream)
        Self.closing.async { stream.close() }
    }

    /// Whether another thread may close the stream during a read. Foundation's own class on Linux reads from a descriptor, whose
    /// number could belong to another file after the close. Its files do not block.
    private var canCloseWhileReading: Bool {
        #if canImport(FoundationNetworking)
        type(of: stream) != InputStream.self
        #else
        true
        #endif
    }

    private func readUnlessCancelled() throws -> ByteBuffer? {
        let isCancelled = state.withLockedValue { state in
            state.isReading = !state.isCancelled
            return state.isCancelled
        }
        if isCancelled { throw CancellationError() }
        defer { state.withLockedValue { $0.isReading = false } }
        return try read()
    }

    private func read() throws -> ByteBuffer? {
        if !hasOpened {
            // The rest of a stream that another load has read would look like the whole body. Foundation on Apple platforms passes
            // such a stream to the load that follows a redirect.
            guard stream.streamStatus == .notOpen else {
                throw URLError(
                    .requestBodyStreamExhausted,
                    "the stream of the body was opened before, and can be read only once",
                    for: nil
                )
            }
            stream.open()
            hasOpened = true
        }
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
