// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import Names
import Testing

@testable import DirectHTTP

@Suite("Between a connection and the task that reads its response", .timeLimit(.minutes(1)))
struct ExchangeTests {
    private func exchange(bufferedBytes: Int = 1_000) throws -> Exchange {
        let request = try PreparedRequest(.get, HTTPURL("http://a.test/"))
        return Exchange(request: request, limits: ExchangeLimits(bufferedBytes: bufferedBytes))
    }

    private func deliver(_ piece: ByteBuffer?, to exchange: Exchange) -> Bool {
        let pieces = piece.map { [$0] } ?? []
        return exchange.deliver(head: nil, pieces: pieces, end: nil, now: .now(), wakes: nil)
    }

    @Test("a second reader of a body is told so, and does not take the first one's turn")
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
            // Whichever came second ends at once.
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

    @Test("looking for a piece that is there does not forget the task that waits for one")
    func lookBesideReader() async throws {
        let exchange = try exchange()
        let piece = try await withUnsafeContinuation { waiter in
            #expect(exchange.takePiece(orWait: waiter) == nil)
            #expect(exchange.takePiece() == nil)
            _ = deliver(ByteBuffer(string: "piece"), to: exchange)
        }.get()
        #expect(piece == ByteBuffer(string: "piece"))
    }

    @Test("where no bytes may wait, the socket is read all the same: a head alone does not stop it")
    func noRoom() throws {
        let exchange = try exchange(bufferedBytes: 0)
        #expect(deliver(nil, to: exchange))
        #expect(!deliver(ByteBuffer(string: "piece"), to: exchange))
    }

    @Test("a body that comes byte by byte is kept as bytes, not as a buffer for each of them")
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

    @Test("pieces of the usual sizes are handed on as they are")
    func pieces() {
        var queue = PieceQueue()
        let sizes = [16_384, 4_096, 8_000, 16_384]
        for size in sizes { queue.append(ByteBuffer(repeating: 1, count: size)) }
        var taken: [Int] = []
        while let piece = queue.popFirst() { taken.append(piece.readableBytes) }
        #expect(taken == sizes)
    }

    @Test("a body of less than no bytes is refused, and parts whose lengths have no sum are an error")
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
