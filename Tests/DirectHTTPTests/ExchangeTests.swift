// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Names
import Testing

@testable import DirectHTTP

@Suite("The exchange between a connection and the reader of its response", .timeLimit(.minutes(1)))
struct ExchangeTests {
    private func exchange(bufferedBytes: Int = 1_000) throws -> Exchange {
        let request = try PreparedRequest(.get, HTTPURL("http://a.test/"))
        return Exchange(request: request, limits: ExchangeLimits(bufferedBytes: bufferedBytes))
    }

    private func deliver(_ piece: ByteBuffer?, to exchange: Exchange) -> Bool {
        let pieces = piece.map { [$0] } ?? []
        return exchange.deliver(head: nil, pieces: pieces, end: nil, now: .now(), wakes: nil)
    }

    @Test("a second concurrent reader of a body gets an error, and the first one keeps waiting")
    func secondReader() async throws {
        let exchange = try exchange()
        await withTaskGroup(of: Exchange.PieceResult.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    do throws(DirectHTTPError) {
                        return .success(try await exchange.nextPiece())
                    } catch {
                        return .failure(error)
                    }
                }
            }
            // The second reader ends at once.
            guard case .failure(let error)? = await group.next() else {
                Issue.record("both wait")
                return
            }
            #expect(error.code == .invalidRequest)
            _ = deliver(ByteBuffer(string: "piece"), to: exchange)
            guard case .success(let piece)? = await group.next() else {
                Issue.record("the first one was not told")
                return
            }
            #expect(piece == ByteBuffer(string: "piece"))
        }
    }

    @Test("checking for a piece does not remove the task that waits for one")
    func lookBesideReader() async throws {
        let exchange = try exchange()
        let piece = try await withUnsafeContinuation { waiter in
            #expect(exchange.takePiece(orWait: waiter) == nil)
            #expect(exchange.takePiece() == nil)
            _ = deliver(ByteBuffer(string: "piece"), to: exchange)
        }.get()
        #expect(piece == ByteBuffer(string: "piece"))
    }

    @Test("an exchange that is cancelled while it gets its connection is not started")
    func cancelledDuringStart() async throws {
        let exchange = try exchange()
        let carrier = RecordingCarrier()
        await withUnsafeContinuation { (done: UnsafeContinuation<Void, Never>) in
            NIOThreadPool.singleton.submit { _ in
                exchange.abandon(carrier.makeError(afterStartOf: exchange))
                done.resume()
            }
        }
        #expect(carrier.wasOver.withLockedValue { $0 } == true, "it would run without a reader")
        #expect(exchange.ending?.error?.code == .cancelled)
    }

    @Test("with a buffer of zero bytes, the head does not stop the socket from being read")
    func noRoom() throws {
        let exchange = try exchange(bufferedBytes: 0)
        #expect(deliver(nil, to: exchange))
        #expect(!deliver(ByteBuffer(string: "piece"), to: exchange))
    }

    @Test("a body of one-byte pieces is stored as bytes, not as one buffer each")
    func bytes() {
        var queue = PieceQueue()
        for number in 0..<5_000 {
            var buffer = ByteBuffer(repeating: 0, count: 32 * 1024)
            buffer.setInteger(UInt8(truncatingIfNeeded: number / 3), at: 0)
            queue.append(buffer.readSlice(length: 1) ?? ByteBuffer())
        }
        var whole: [UInt8] = []
        var kept = 0
        while let piece = queue.popFirst() {
            whole += piece.readableBytesView
            kept += piece.storageCapacity
        }
        #expect(whole == (0..<5_000).map { UInt8(truncatingIfNeeded: $0 / 3) })
        #expect(kept < 100_000)
    }

    @Test("pieces of usual sizes are delivered unchanged")
    func pieces() {
        var queue = PieceQueue()
        let sizes = [16_384, 4_096, 8_000, 16_384]
        for size in sizes { queue.append(ByteBuffer(repeating: 1, count: size)) }
        var taken: [Int] = []
        while let piece = queue.popFirst() { taken.append(piece.readableBytes) }
        #expect(taken == sizes)
    }

    @Test("a negative body length is refused, and parts whose lengths overflow are an error")
    func lengths() throws {
        let empty = PieceSequence(ByteBuffer(), count: 0)
        let negative = #expect(throws: DirectHTTPError.self) {
            try PreparedRequest(.put, HTTPURL("http://a.test/"), body: .stream(length: -1) { empty })
        }
        #expect(negative?.code == .invalidRequest)
        let joined = RequestBody.joined([.stream(length: .max) { empty }, .stream(length: 1) { empty }])
        let error = #expect(throws: DirectHTTPError.self) { try joined.contentLength() }
        #expect(error?.code == .bodySourceFailed)
    }
}

/// Records whether an exchange was over when it was started.
private final class RecordingCarrier: ExchangeCarrier {
    let wasOver = NIOLockedValueBox<Bool?>(nil)
    private let isStarted = ConditionLock(value: false)

    /// Starts the exchange in another task, as if its connection came while its cancellation makes the error.
    func makeError(afterStartOf exchange: Exchange) -> DirectHTTPError {
        Task { [self] in _ = await exchange.head(on: self, now: .now()) }
        isStarted.lock(whenValue: true)
        isStarted.unlock()
        return DirectHTTPError(.cancelled, "the request was cancelled")
    }

    var isCallerOnLoop: Bool { false }
    func start(_ exchange: Exchange, now: NIODeadline) {
        wasOver.withLockedValue { $0 = exchange.isOver }
        isStarted.lock()
        isStarted.unlock(withValue: true)
    }
    func resumeReading(_ exchange: Exchange) {}
    func abandon(_ exchange: Exchange) {}
    func send(_ piece: ByteBuffer, of exchange: Exchange, done: @escaping @Sendable (Bool) -> Void) { done(false) }
    func finishSending(_ exchange: Exchange) {}
}
