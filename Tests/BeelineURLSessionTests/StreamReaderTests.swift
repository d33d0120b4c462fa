// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import NIOConcurrencyHelpers
import NIOCore
import Testing

@testable import BeelineURLSession

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Streams of request bodies", .timeLimit(.minutes(1)))
struct StreamReaderTests {
    /// A stream whose reads block until it is closed, like a pipe or a socket.
    private final class Blocking: InputStream {
        let (reading, read) = AsyncStream<Void>.makeStream()
        let (closing, closed) = AsyncStream<Void>.makeStream()
        private let gate = DispatchSemaphore(value: 0)

        override var streamStatus: Stream.Status { .notOpen }
        override var streamError: (any Error)? { POSIXError(.ECANCELED) }
        override func open() {}
        override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
            read.yield()
            gate.wait()
            closed.yield()
            return -1
        }
        override func close() { gate.signal() }
    }

    @Test("cancelling a reader while its stream blocks closes the stream and frees the thread")
    func cancelled() async throws {
        let stream = Blocking(data: Data())
        let (reading, ended) = (stream.reading, stream.closing)
        let reader = StreamReader(stream)
        let work = Task { try await reader.next() }
        for await _ in reading { break }
        work.cancel()
        await #expect(throws: CancellationError.self) { try await work.value }
        // The blocked read has returned.
        for await _ in ended { break }
        await #expect(throws: CancellationError.self) { try await reader.next() }
    }

    @Test("a stream that another reader has read is an error, not an empty or a shorter body")
    func readBefore() async throws {
        let stream = InputStream(data: Data("body".utf8))
        let first = StreamReader(stream)
        let second = StreamReader(stream)
        #expect(try await first.next()?.readableBytes == 4)
        let error = await #expect(throws: URLError.self) { try await second.next() }
        #expect(error?.code == .requestBodyStreamExhausted)
        #expect(try await first.next() == nil)
    }
}
