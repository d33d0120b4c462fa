// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import Names
import Testing

@testable import DirectHTTP
@testable import HTTPWire

@Suite("HTTP/2 bounds on a peer's numbers and on memory")
struct HTTP2BoundsTests {
    @Test("a window update beyond 2^31-1 is refused without overflow, also where Int has 32 bits")
    func windowOverflow() {
        #expect(HTTP2Frame.window(Int32.max, changedBy: 1) == nil)
        #expect(HTTP2Frame.window(Int32(1), changedBy: .max) == nil)
        #expect(HTTP2Frame.window(Int32(0), changedBy: .max) == .max)
        #expect(HTTP2Frame.window(Int32(-5), changedBy: .max) == 2_147_483_642)
        #expect(HTTP2Frame.window(Int32(0), changedBy: -.max) == -.max)
        #expect(HTTP2Frame.window(0x7fff_ffff, changedBy: 1) == nil)
        #expect(HTTP2Frame.window(0x7fff_fffe, changedBy: 1) == 0x7fff_ffff)
    }

    @Test("a buffer without a bound announces the largest window that HTTP/2 allows")
    func largestWindow() throws {
        var window = HTTP2ReceiveWindow(.max)
        let takesAll = window.take(HTTP2Frame.maxWindow)
        let takesMore = window.take(1)
        let credit = window.credit(isStalled: false)
        #expect(takesAll && !takesMore && credit == HTTP2Frame.maxWindow)

        let (channel, _, _) = try connect(streamWindow: .max)
        var settings = try #require(try channel.readOutbound(as: ByteBuffer.self))
        // Skip the preface, a frame header, ENABLE_PUSH, and the identifier of INITIAL_WINDOW_SIZE.
        settings.moveReaderIndex(forwardBy: 24 + 9 + 6 + 2)
        #expect(settings.readInteger(as: UInt32.self) == 0x7fff_ffff)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a connection that has used its last stream number leaves the pool")
    func numbersRunOut() throws {
        let (channel, handler, notices) = try connect()
        handler.connection.nextID = UInt32(Int32.max)
        let exchange = try exchange()
        handler.start(exchange, now: channel.eventLoop.now)
        #expect(!exchange.isOver)
        #expect(notices.withLockedValue { $0 } == 1)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a peer that sends PING without reading the replies is disconnected")
    func unreadAnswers() throws {
        let (channel, handler, _) = try connect()
        let exchange = try exchange()
        handler.start(exchange, now: channel.eventLoop.now)
        try channel.writeInbound(ByteBuffer(bytes: RawFrame(.settings).bytes))
        try channel.writeInbound(ByteBuffer(bytes: RawFrame.headers([(":status", "200")], stream: 1).bytes))
        channel.isWritable = false
        let pair =
            RawFrame(.data, stream: 1, payload: [1]).bytes + RawFrame(.ping, payload: [1, 2, 3, 4, 5, 6, 7, 8]).bytes
        for _ in 0..<HTTP2FloodGuard.limit { try channel.writeInbound(ByteBuffer(bytes: pair)) }
        #expect(!exchange.isOver)
        try channel.writeInbound(ByteBuffer(bytes: pair))
        #expect(exchange.ending?.error?.code == .malformedResponse, "a flood is not a large response")
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a header block larger than the announced size of its fields is a response that is too large")
    func largeBlock() throws {
        let (channel, handler, _) = try connect()
        let exchange = try exchange()
        handler.start(exchange, now: channel.eventLoop.now)
        try channel.writeInbound(ByteBuffer(bytes: RawFrame(.settings).bytes))
        let part = [UInt8](repeating: 0, count: HTTP2Frame.defaultMaxLength)
        let (whole, rest) = handler.connection.limits.listSize.quotientAndRemainder(dividingBy: part.count)
        try channel.writeInbound(ByteBuffer(bytes: RawFrame(.headers, stream: 1, payload: part).bytes))
        for _ in 1..<whole {
            try channel.writeInbound(ByteBuffer(bytes: RawFrame(.continuation, stream: 1, payload: part).bytes))
        }
        let last = RawFrame(.continuation, stream: 1, payload: Array(part.prefix(rest)))
        try channel.writeInbound(ByteBuffer(bytes: last.bytes))
        #expect(!exchange.isOver, "as large as announced")
        try channel.writeInbound(ByteBuffer(bytes: RawFrame(.continuation, stream: 1, payload: [0]).bytes))
        #expect(exchange.ending?.error?.code == .responseTooLarge)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("responses without a body count as progress, so that a PING with each of them is not a flood")
    func answersWithoutBodies() throws {
        let (channel, handler, _) = try connect()
        try channel.writeInbound(ByteBuffer(bytes: RawFrame(.settings).bytes))
        let ping = RawFrame(.ping, payload: [1, 2, 3, 4, 5, 6, 7, 8]).bytes
        for number in 0..<UInt32(HTTP2FloodGuard.limit + 100) {
            let exchange = try exchange()
            handler.start(exchange, now: channel.eventLoop.now)
            let head = RawFrame.headers([(":status", "204")], stream: 2 * number + 1, flags: 5).bytes
            try channel.writeInbound(ByteBuffer(bytes: ping + head))
            guard exchange.isOver, exchange.ending?.error == nil else {
                Issue.record("ended after \(number) requests: \(exchange.ending?.error?.message ?? "not at all")")
                break
            }
        }
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a stream that ends while its window is closed leaves the send queue")
    func endedInQueue() throws {
        let (channel, handler, _) = try connect()
        channel.isWritable = false
        for _ in 0..<3 {
            let exchange = try exchange(.bytes([UInt8](repeating: 1, count: 100)))
            handler.start(exchange, now: channel.eventLoop.now)
            #expect(handler.connection.sending.count == 1)
            handler.abandon(exchange)
            #expect(handler.connection.sending.isEmpty)
        }
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test("frames that are split within their headers do not accumulate in memory")
    func readerKeepsLittle() throws {
        var reader = HTTP2FrameReader(maxBlock: 1_000)
        let data = RawFrame(.data, stream: 1, payload: [UInt8](repeating: 1, count: 100)).bytes
        reader.feed(ByteBuffer(bytes: RawFrame(.settings).bytes + data.prefix(4)))
        for _ in 0..<2_000 {
            while try reader.next() != nil {}
            reader.feed(ByteBuffer(bytes: data.dropFirst(4) + data.prefix(4)))
        }
        #expect(reader.capacity < 10_000)
    }

    @Test("no bytes of a server make the handler trap, and each exchange ends with its connection")
    func fuzz() throws {
        let seed =
            RawFrame(.settings).bytes + RawFrame.headers([(":status", "103")], stream: 1).bytes
            + RawFrame.headers([(":status", "200"), ("content-length", "3")], stream: 1).bytes
            + RawFrame(.data, flags: 1, stream: 1, payload: [1, 2, 3]).bytes
            + RawFrame(.windowUpdate, stream: 3, payload: RawFrame.big(9)).bytes
            + RawFrame.headers([(":status", "404")], stream: 3, flags: 5).bytes
            + RawFrame(.goAway, payload: RawFrame.big(3) + RawFrame.big(0)).bytes
        var random = SeededRandom(seed: 9_113)
        for _ in 0..<FuzzRounds.count(ordinary: 2_000) {
            let (channel, handler, _) = try connect()
            let exchanges = [try exchange(), try exchange(.bytes([UInt8](repeating: 65, count: 100_000)))]
            for exchange in exchanges { handler.start(exchange, now: channel.eventLoop.now) }
            var bytes = seed
            for _ in 0...Int.random(in: 0..<6, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                if Bool.random(using: &random) {
                    bytes[index] = UInt8.random(in: 0...255, using: &random)
                } else {
                    bytes.remove(at: index)
                }
            }
            let cut = Int.random(in: 0...bytes.count, using: &random)
            for part in [bytes[..<cut], bytes[cut...]] where channel.isActive {
                _ = try? channel.writeInbound(ByteBuffer(bytes: part))
            }
            _ = try? channel.finish(acceptAlreadyClosed: true)
            #expect(exchanges.filter { !$0.isOver }.isEmpty, "\(bytes)")
        }
    }

    private func exchange(_ body: RequestBody = .none) throws -> Exchange {
        let request = try PreparedRequest(.post, HTTPURL("http://a.test/"), body: body)
        return Exchange(request: request, limits: ExchangeLimits(bufferedBytes: 64 * 1024))
    }

    /// A connection, and the number of times it has reported that it takes no more exchanges.
    private func connect(
        streamWindow: Int = 65_535
    ) throws -> (EmbeddedChannel, HTTP2Handler, NIOLockedValueBox<Int>) {
        let channel = EmbeddedChannel()
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        let drained = NIOLockedValueBox(0)
        let handler = HTTP2Handler(
            .test(window: streamWindow),
            now: channel.eventLoop.now,
            wakes: WakeQueue(channel.embeddedEventLoop)
        ) { notice in
            if case .draining = notice { drained.withLockedValue { $0 += 1 } }
        }
        try channel.pipeline.syncOperations.addHandler(handler)
        return (channel, handler, drained)
    }
}
