// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import NIOPosix
import Names
import Testing

@testable import DirectHTTP
@testable import HTTPWire

/// Slow lines, on which the kernel's send buffer holds what was written for longer than the limits of silence.
@Suite("Bytes that were written and are still on the way", .timeLimit(.minutes(1)))
struct SendProgressTests {
    /// What the queues of a channel hold.
    private final class Queue: Sendable {
        let bytes = NIOLockedValueBox(0)

        var progress: SendProgress {
            SendProgress { [bytes] _ in bytes.withLockedValue { $0 } }
        }

        func hold(_ count: Int64) { bytes.withLockedValue { $0 = Int(count) } }
    }

    @Test("a server that gets the last bytes just before the check has one more limit to answer")
    func lastPart() throws {
        let queue = Queue()
        let channel = try channel()
        var progress = queue.progress
        progress.wrote(100)
        let (limit, start) = (TimeAmount.seconds(60), NIODeadline.uptimeNanoseconds(1))
        queue.hold(40)
        #expect(progress.move(before: 100, within: limit, on: channel, now: start + limit) == start + limit)
        queue.hold(0)
        let second = start + limit + limit
        #expect(progress.move(before: 100, within: limit, on: channel, now: second) == second)
        #expect(progress.move(before: 100, within: limit, on: channel, now: second + limit) == nil)
        // Without an earlier look that found bytes behind, such as for a request without a body, there is one limit.
        progress.markDelivered(on: channel)
        progress.wrote(100)
        #expect(progress.move(before: 200, within: limit, on: channel, now: second + limit) == nil)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("bytes of a cancelled upload in the kernel count as progress of the next request when they are sent")
    func cancelledUpload() throws {
        let queue = Queue()
        let channel = try channel()
        var progress = queue.progress
        let (limit, start) = (TimeAmount.seconds(60), NIODeadline.uptimeNanoseconds(1))
        progress.wrote(3_000_000)
        queue.hold(2_900_000)
        progress.markDelivered(on: channel)
        progress.wrote(100)
        queue.hold(2_000_000)
        #expect(progress.move(before: progress.written, within: limit, on: channel, now: start) == start)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    private func channel() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        return channel
    }

    private func exchange(_ body: RequestBody) throws -> Exchange {
        let request = try PreparedRequest(.post, HTTPURL("http://a.test/"), body: body)
        return Exchange(request: request, limits: ExchangeLimits(bufferedBytes: 64 * 1024, idle: .seconds(60)))
    }

    private func http2(
        _ channel: EmbeddedChannel,
        _ queue: Queue,
        pingAfter: TimeAmount?
    ) throws -> HTTP2Handler {
        let handler = HTTP2Handler(
            .test(pingAfter: pingAfter),
            now: channel.eventLoop.now,
            wakes: WakeQueue(channel.embeddedEventLoop),
            progress: queue.progress
        ) { _ in }
        try channel.pipeline.syncOperations.addHandler(handler)
        return handler
    }

    @Test("a PING that waits behind bytes in the kernel's send buffer does not count as lost while they are sent")
    func pingBehindTheSendBuffer() throws {
        let (channel, queue) = (try channel(), Queue())
        let handler = try http2(channel, queue, pingAfter: .seconds(15))
        let exchange = try exchange(.bytes(ByteBuffer(repeating: 1, count: 50_000)))
        handler.start(exchange, now: channel.eventLoop.now)
        channel.embeddedEventLoop.run()
        var delivered = handler.progress.delivered
        func wait(_ seconds: Int64) {
            queue.hold(handler.progress.written - delivered)
            channel.embeddedEventLoop.advanceTime(by: .seconds(seconds))
        }
        wait(15)
        for _ in 0..<3 {
            // The PING is behind bytes of which some leave.
            delivered += 1_000
            wait(5)
            #expect(!exchange.isOver)
        }
        wait(5)
        #expect(exchange.ending?.error?.code == .connectionLost, "nothing left in the time of a PING")
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("the server is not silent while the kernel still sends the end of an upload", arguments: [false, true])
    func endOfUpload(isHTTP2: Bool) throws {
        let (channel, queue) = (try channel(), Queue())
        let exchange = try exchange(.bytes(ByteBuffer(repeating: 1, count: 50_000)))
        if isHTTP2 {
            try http2(channel, queue, pingAfter: nil).start(exchange, now: channel.eventLoop.now)
        } else {
            let handler = HTTP1Handler(
                .test(),
                isForwarded: false,
                isSecured: false,
                wakes: WakeQueue(channel.embeddedEventLoop),
                progress: queue.progress
            ) { _ in }
            try channel.pipeline.syncOperations.addHandler(handler)
            handler.start(exchange, now: channel.eventLoop.now)
        }
        for left in [40_000, 20_000, 5_000] {
            queue.hold(Int64(left))
            channel.embeddedEventLoop.advanceTime(by: .seconds(60))
            #expect(!exchange.isOver)
        }
        channel.embeddedEventLoop.advanceTime(by: .seconds(60))
        #expect(exchange.ending?.error?.code == .idleTimeout, "nothing has left for a minute")
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test(
        "a server that has the whole request, or a line that takes nothing of it, is silent after the usual time",
        arguments: [false, true]
    )
    func silentServer(hasRequest: Bool) throws {
        let (channel, queue) = (try channel(), Queue())
        let exchange = try exchange(.bytes(ByteBuffer(repeating: 1, count: 50_000)))
        let handler = try http2(channel, queue, pingAfter: nil)
        handler.start(exchange, now: channel.eventLoop.now)
        channel.embeddedEventLoop.run()
        queue.hold(hasRequest ? 0 : handler.progress.written - handler.progress.delivered)
        channel.embeddedEventLoop.advanceTime(by: .seconds(60))
        #expect(exchange.ending?.error?.code == .idleTimeout)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    private func webSocket(_ channel: EmbeddedChannel, _ queue: Queue) throws -> WebSocketHandler {
        var settings = WebSocketSettings()
        settings.pingInterval = .seconds(10)
        let handler = WebSocketHandler(
            settings: settings,
            deflate: nil,
            inbox: WebSocketInbox(bound: 1_000) {},
            progress: queue.progress
        ) {}
        try channel.pipeline.syncOperations.addHandler(handler)
        return handler
    }

    @Test("a WebSocket's server does not count as silent while a frame is still being sent")
    func frameOnTheWay() throws {
        let (channel, queue) = (try channel(), Queue())
        let handler = try webSocket(channel, queue)
        handler.send(.binary(ByteBuffer(repeating: 1, count: 50_000)), done: OneShot())
        for left in [50_000, 40_000, 30_000, 20_000] {
            queue.hold(Int64(left))
            channel.embeddedEventLoop.advanceTime(by: .seconds(10))
            #expect(channel.isActive)
        }
        channel.embeddedEventLoop.advanceTime(by: .seconds(10))
        #expect(!channel.isActive)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a close of a WebSocket waits for messages that still leave, but not for ever", arguments: [false, true])
    func closeBehindMessages(isEndless: Bool) throws {
        let (channel, queue) = (try channel(), Queue())
        let handler = try webSocket(channel, queue)
        handler.send(.binary(ByteBuffer(repeating: 1, count: 50_000)), done: OneShot())
        queue.hold(50_000)
        handler.close(WebSocketClosure())
        var seconds = 0
        while channel.isActive, seconds < 300 {
            if isEndless || seconds < 10 { queue.bytes.withLockedValue { $0 -= 100 } }
            channel.embeddedEventLoop.advanceTime(by: .seconds(5))
            seconds += 5
        }
        #expect(seconds == (isEndless ? 80 : 15))
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a close frame that was still on the way does not make the close of a WebSocket longer")
    func closeFrameOnTheWay() throws {
        let (channel, queue) = (try channel(), Queue())
        let handler = try webSocket(channel, queue)
        queue.hold(8)
        handler.close(WebSocketClosure())
        queue.hold(0)
        channel.embeddedEventLoop.advanceTime(by: .seconds(5))
        #expect(!channel.isActive)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a message of 1 MiB leaves in frames that let an answer to a PING between them")
    func smallFrames() throws {
        #expect(WebSocketSettings().frameBytes <= 64 * 1024)
    }

    @Test("bytes that a socket's peer has not received are counted, in NIO's queue and in the kernel's")
    func realSocket() async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        let (accepted, accept) = AsyncStream.makeStream(of: (any Channel).self)
        let server = try await ServerBootstrap(group: group)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { channel in
                accept.yield(channel)
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let address = try #require(server.localAddress)
        let client = try await ClientBootstrap(group: group).connect(to: address).get()
        let count = 32 << 20
        client.writeAndFlush(ByteBuffer(repeating: 1, count: count), promise: nil)
        @Sendable func waiting() async throws -> Int? {
            try await client.eventLoop.submit { client.unacknowledgedBytes }.get()
        }
        var waits = try #require(try await waiting())
        #expect(waits > 0 && waits <= count)
        let peer = try #require(await accepted.first { _ in true })
        try await peer.setOption(.autoRead, value: true).get()
        while waits > 0 { waits = try #require(try await waiting()) }
        try await client.close().get()
        let closed = try await waiting()
        #expect(closed == nil)
        try await server.close().get()
    }
}
