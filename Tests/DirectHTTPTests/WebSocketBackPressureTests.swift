// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import Testing

@testable import DirectHTTP
@testable import HTTPWire

@Suite("A WebSocket with a slow reader", .timeLimit(.minutes(1)))
struct WebSocketBackPressureTests {
    /// Blocks after each large write.
    private final class SlowSocket: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            context.write(data, promise: promise)
            if unwrapOutboundIn(data).readableBytes > 1_000 {
                (context.channel as? EmbeddedChannel)?.isWritable = false
            }
        }
    }

    @Test(
        "a large message over a slow connection is sent frame by frame, with PONGs in between and without a timeout"
    )
    func largeMessage() async throws {
        let channel = EmbeddedChannel()
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        var settings = WebSocketSettings()
        settings.frameBytes = 10_000
        settings.pingInterval = .seconds(10)
        let handler = WebSocketHandler(
            settings: settings,
            deflate: nil,
            inbox: WebSocketInbox(bound: 1_000) {}
        ) {}
        try channel.pipeline.syncOperations.addHandlers(SlowSocket(), handler)
        let done = OneShot<Void>()
        handler.send(.binary(ByteBuffer(repeating: 1, count: 50_000)), done: done)
        let ping = WebSocketFrame(opcode: .ping, payload: ByteBuffer(integer: UInt64(7)))
        try channel.writeInbound(ping.encoded(mask: nil))
        var opcodes: [UInt8] = []
        for _ in 0..<5 {
            while let frame = try channel.readOutbound(as: ByteBuffer.self) {
                opcodes.append((frame.getInteger(at: frame.readerIndex, as: UInt8.self) ?? 0) & 0x0f)
            }
            channel.embeddedEventLoop.advanceTime(by: .seconds(9))
            channel.isWritable = true
            channel.pipeline.fireChannelWritabilityChanged()
        }
        #expect(opcodes == [2, 10, 0, 0, 0, 0], "the answer to the PING is the second frame")
        #expect(channel.isActive)
        try await done.value(orCancelled: "")
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("each PING of a few is answered, and only the last 64 of a flood", arguments: [10, 100])
    func pingFlood(count: Int) throws {
        let channel = EmbeddedChannel()
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        let handler = WebSocketHandler(
            settings: WebSocketSettings(),
            deflate: nil,
            inbox: WebSocketInbox(bound: 1_000) {}
        ) {}
        try channel.pipeline.syncOperations.addHandler(handler)
        var pings = ByteBuffer()
        for number in 1...count {
            let ping = WebSocketFrame(opcode: .ping, payload: ByteBuffer(bytes: [UInt8(number)]))
            pings.writeImmutableBuffer(ping.encoded(mask: nil))
        }
        try channel.writeInbound(pings)
        var answered: [Int] = []
        while let pong = try channel.readOutbound(as: ByteBuffer.self) {
            // Two bytes of header, four of mask, one of payload.
            let bytes = Array(pong.readableBytesView)
            try #require(bytes.count == 7 && bytes[0] == 0x8a)
            answered.append(Int(bytes[6] ^ bytes[2]))
        }
        #expect(answered == Array((1...count).suffix(64)))
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a full inbox stays full until it has room, even if a smaller message follows")
    func staysFull() async throws {
        let drained = Watermark()
        let inbox = WebSocketInbox(bound: 100) { drained.rise() }
        // Each message costs 16 bytes in addition to its own.
        let message = WebSocketMessage.binary(ByteBuffer(repeating: 1, count: 44))
        #expect(inbox.put(message) && !inbox.put(message))
        #expect(try await inbox.next() == message)
        #expect(!inbox.put(.binary(ByteBuffer())), "60 bytes are more than half of the bound")
        #expect(drained.height == 0)
        #expect(try await inbox.next() == message)
        #expect(drained.height == 1)
    }

    @Test("a waiting message keeps its own bytes only, without the read buffer")
    func keepsLittle() async throws {
        let inbox = WebSocketInbox(bound: 1_000) {}
        let large = ByteBuffer(repeating: 1, count: 100_000)
        _ = inbox.put(.binary(try #require(large.getSlice(at: 0, length: 1))))
        guard case .binary(let bytes)? = try await inbox.next() else {
            Issue.record("no message")
            return
        }
        #expect(bytes == ByteBuffer(bytes: [1]) && bytes.storageCapacity < 1_000)
    }

    @Test("small compressed frames are decompressed as the reader takes them, not all at once")
    func inflatesAsItIsRead() async throws {
        let socket = try await Socket(bound: 1_000)
        try await socket.channel.writeInbound(socket.frames(count: 50, close: false))
        socket.inbox.finish(.success(()))
        var count = 0
        while try await socket.inbox.next() != nil { count += 1 }
        #expect(count == 1)
        try await socket.channel.close()
    }

    @Test("a reader that takes one message at a time receives all of them")
    func resumes() async throws {
        let socket = try await Socket(bound: 1_000)
        try await socket.channel.writeInbound(socket.frames(count: 50, close: true))
        for _ in 0..<50 { #expect(try await socket.inbox.next() == .binary(socket.message)) }
        #expect(try await socket.inbox.next() == nil)
        #expect(socket.inbox.closure?.code == .normal)
        try? await socket.channel.close()
    }

    @Test("frames that arrived before the socket closed are still delivered, including the close frame")
    func readsAfterTheEnd() async throws {
        let socket = try await Socket(bound: 1_000)
        try await socket.channel.writeInbound(socket.frames(count: 3, close: true))
        try await socket.channel.close()
        for _ in 0..<3 { #expect(try await socket.inbox.next() == .binary(socket.message)) }
        #expect(try await socket.inbox.next() == nil)
        #expect(try await socket.isReleased())
    }

    @Test("frames that arrived before the socket was lost are delivered before its error")
    func readsBeforeTheError() async throws {
        let socket = try await Socket(bound: 1_000)
        try await socket.channel.writeInbound(socket.frames(count: 3, close: false))
        try await socket.channel.close()
        for _ in 0..<3 { #expect(try await socket.inbox.next() == .binary(socket.message)) }
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await socket.inbox.next() }
        #expect(error?.code == .connectionLost)
        #expect(try await socket.isReleased())
    }

    @Test("our close finds the peer's close frame after messages that do not fit, and discards them")
    func closesPastMessages() async throws {
        let socket = try await Socket(bound: 1_000)
        try await socket.channel.writeInbound(socket.frames(count: 50, close: true))
        try await socket.channel.testingEventLoop.executeInContext { [box = socket.box] in
            box.value?.close(WebSocketClosure())
        }
        #expect(socket.inbox.closure?.code == .normal)
        #expect(try await socket.inbox.next() == .binary(socket.message))
        #expect(try await socket.inbox.next() == nil)
        try? await socket.channel.close()
    }

    @Test("a frame of 2^63-1 bytes is refused even if messages have no limit")
    func longestFrame() async throws {
        var settings = WebSocketSettings()
        settings.maxMessageBytes = .max
        let socket = try await Socket(bound: 1_000, settings: settings)
        var header = ByteBuffer(bytes: [0x82, 127])
        header.writeInteger(Int64.max)
        try await socket.channel.writeInbound(header)
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await socket.inbox.next() }
        #expect(error?.code == .responseTooLarge)
        try? await socket.channel.close()
    }

    @Test("a WebSocket without references releases its handler, even with unread frames")
    func dropped() async throws {
        let socket = try await Socket(bound: 1_000)
        try await socket.channel.writeInbound(socket.frames(count: 3, close: false))
        try await socket.channel.close()
        #expect(try await !socket.isReleased())
        try await socket.channel.testingEventLoop.executeInContext { [box = socket.box] in box.value?.drop() }
        #expect(try await socket.isReleased())
    }
}

/// A handler on a channel without a socket, and the inbox of its reader.
private struct Socket {
    let channel = NIOAsyncTestingChannel()
    let inbox: WebSocketInbox
    let box: NIOLoopBoundBox<WebSocketHandler?>
    /// The content of each compressed frame of ``frames(count:close:)``.
    let message = ByteBuffer(repeating: 7, count: 100_000)

    init(bound: Int, settings: WebSocketSettings = WebSocketSettings()) async throws {
        let loop = channel.testingEventLoop
        let box = NIOLoopBoundBox<WebSocketHandler?>.makeEmptyBox(valueType: WebSocketHandler.self, eventLoop: loop)
        inbox = WebSocketInbox(bound: bound) { loop.execute { box.value?.resumeReading() } }
        self.box = box
        try await loop.executeInContext { [channel, inbox] in
            let handler = WebSocketHandler(
                settings: settings,
                deflate: WebSocketDeflate.Agreement(fieldValue: "permessage-deflate"),
                inbox: inbox
            ) {
                box.value = nil
            }
            try channel.pipeline.syncOperations.addHandler(handler)
            box.value = handler
        }
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).get()
    }

    /// Compressed messages in one buffer, each of a few hundred bytes.
    func frames(count: Int, close: Bool) throws -> ByteBuffer {
        let agreement = try #require(WebSocketDeflate.Agreement(fieldValue: "permessage-deflate"))
        let deflate = WebSocketDeflate(agreement, maxBytes: 1 << 20)
        var frames = ByteBuffer()
        for _ in 0..<count {
            let payload = try #require(deflate.compress(message))
            let frame = WebSocketFrame(opcode: .binary, isCompressed: true, payload: payload)
            frames.writeImmutableBuffer(frame.encoded(mask: nil))
        }
        if close {
            let code = ByteBuffer(integer: WebSocketCloseCode.normal.rawValue)
            frames.writeImmutableBuffer(WebSocketFrame(opcode: .close, payload: code).encoded(mask: nil))
        }
        return frames
    }

    /// Whether the handler has reported its end.
    func isReleased() async throws -> Bool {
        try await channel.testingEventLoop.executeInContext { [box] in box.value == nil }
    }
}
