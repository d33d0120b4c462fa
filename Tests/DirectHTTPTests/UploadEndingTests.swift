// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import LibC
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import Names
import Testing

@testable import DirectHTTP
@testable import HTTPWire

/// Request bodies whose exchange ends early, on a manual clock.
@Suite("Request bodies of exchanges that end early")
struct UploadEndingTests {
    /// A handler on a connected channel, above a scripted socket.
    private func connect(
        http2: Bool,
        socket: ScriptedSocket,
        keepIdle: TimeAmount = .hours(1),
        isSecured: Bool = false
    ) throws -> (EmbeddedChannel, any ConnectionHandler) {
        let channel = EmbeddedChannel()
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        try channel.pipeline.syncOperations.addHandler(socket)
        let wakes = WakeQueue(channel.embeddedEventLoop)
        let handler: any ConnectionHandler & ChannelHandler =
            http2
            ? HTTP2Handler(
                .test(keepIdle: keepIdle),
                now: channel.eventLoop.now,
                wakes: wakes,
                notify: { _ in }
            )
            : HTTP1Handler(
                .test(keepIdle: keepIdle),
                isForwarded: false,
                isSecured: isSecured,
                wakes: wakes,
                notify: { _ in }
            )
        try channel.pipeline.syncOperations.addHandler(handler)
        return (channel, handler)
    }

    private func exchange(
        _ body: RequestBody = .stream(length: nil) { PieceSequence(ByteBuffer(), count: 0) }
    ) throws -> Exchange {
        let request = try PreparedRequest(.post, HTTPURL("http://a.test/"), body: body)
        return Exchange(request: request, limits: ExchangeLimits(bufferedBytes: 64 * 1024, idle: .seconds(60)))
    }

    /// A complete response to the first request of a connection.
    private func accepted(http2: Bool) -> [UInt8] {
        http2
            ? RawFrame(.settings).bytes + RawFrame.headers([(":status", "202")], stream: 1, flags: 5).bytes
            : Array("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".utf8)
    }

    /// More than the window of a stream and the bytes that may wait for it.
    private let large = ByteBuffer(repeating: 1, count: 200_000)

    @Test("a new connection waits for its first exchange in spite of an idle limit of zero", arguments: [false, true])
    func firstRest(http2: Bool) throws {
        let (channel, handler) = try connect(
            http2: http2,
            socket: ScriptedSocket(blocksAfterWrite: false),
            keepIdle: .zero
        )
        channel.embeddedEventLoop.advanceTime(by: .seconds(5))
        let exchange = try exchange()
        handler.start(exchange, now: channel.eventLoop.now)
        #expect(!exchange.isOver)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a body that waits for room is released when its exchange is cancelled", arguments: [false, true])
    func abandoned(http2: Bool) throws {
        let (channel, handler) = try connect(http2: http2, socket: ScriptedSocket(blocksAfterWrite: true))
        let exchange = try exchange()
        handler.start(exchange, now: channel.eventLoop.now)
        let goesOn = NIOLockedValueBox<Bool?>(nil)
        handler.send(large, of: exchange) { answer in goesOn.withLockedValue { $0 = answer } }
        #expect(goesOn.withLockedValue { $0 } == nil)
        handler.abandon(exchange)
        #expect(goesOn.withLockedValue { $0 } == false)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a large piece of a streamed body is sent in parts, each of which counts as activity")
    func largePiece() async throws {
        let piece = ByteBuffer(repeating: 1, count: 1_000_000)
        let exchange = try exchange(.stream(length: 2_000_000) { PieceSequence(piece, count: 2) })
        let carrier = CountingCarrier()
        await exchange.upload(on: carrier)
        let sizes = carrier.sizes.withLockedValue { $0 }
        #expect(sizes.allSatisfy { $0 > 0 && $0 <= FileBody.pieceSize } && sizes.reduce(0, +) == 2_000_000)
        #expect(carrier.isFinished.withLockedValue { $0 })
        #expect(!exchange.isOver)
    }

    @Test("a body is released when a write fails at once", arguments: [false, true])
    func failedAtOnce(http2: Bool) throws {
        let socket = ScriptedSocket(blocksAfterWrite: !http2)
        let (channel, handler) = try connect(http2: http2, socket: socket)
        let exchange = try exchange()
        handler.start(exchange, now: channel.eventLoop.now)
        socket.isBroken = true
        let goesOn = NIOLockedValueBox<Bool?>(nil)
        handler.send(large, of: exchange) { answer in goesOn.withLockedValue { $0 = answer } }
        #expect(exchange.ending?.error?.code == .connectionLost)
        #expect(goesOn.withLockedValue { $0 } == false)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    /// A way in which a connection may end.
    enum ConnectionEnd { case byServer, failedWrite, byUs }

    @Test(
        "a body without a length is complete only if the server ended it, not if a write failed or we closed",
        arguments: [
            (false, .byServer, true), (false, .failedWrite, false), (false, .byUs, false), (true, .byServer, true),
            (true, .byUs, false),
        ] as [(Bool, ConnectionEnd, Bool)]
    )
    func untilClose(isSecured: Bool, end: ConnectionEnd, isWhole: Bool) throws {
        let socket = ScriptedSocket(blocksAfterWrite: false)
        let (channel, handler) = try connect(http2: false, socket: socket, isSecured: isSecured)
        let exchange = try exchange()
        handler.start(exchange, now: channel.eventLoop.now)
        try channel.writeInbound(ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\nhalf"))
        switch end {
        case .byServer where isSecured: channel.pipeline.fireChannelInactive()
        case .byServer: channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        case .failedWrite:
            // As a socket of NIO does: the write fails and the socket closes, without an error event.
            socket.closesAtWrite = true
            handler.send(ByteBuffer(string: "more"), of: exchange) { _ in }
        case .byUs: handler.closeNow()
        }
        #expect(exchange.ending != nil && (exchange.ending?.error == nil) == isWhole)
        #expect(!channel.isActive || isSecured)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a response that arrives while the body is blocked is delivered before the body is released")
    func earlyResponse() throws {
        let (channel, handler) = try connect(http2: false, socket: ScriptedSocket(blocksAfterWrite: true))
        let exchange = try exchange()
        handler.start(exchange, now: channel.eventLoop.now)
        let wasOver = NIOLockedValueBox<Bool?>(nil)
        handler.send(large, of: exchange) { _ in wasOver.withLockedValue { $0 = exchange.isOver } }
        try channel.writeInbound(ByteBuffer(string: "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n"))
        #expect(wasOver.withLockedValue { $0 } == true)
        #expect(exchange.ending?.error == nil && exchange.ending != nil)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test(
        "an exchange whose response is complete first ends when the socket has taken the whole body",
        arguments: [false, true]
    )
    func takenBySocket(http2: Bool) throws {
        let socket = ScriptedSocket(blocksAfterWrite: false)
        let (channel, handler) = try connect(http2: http2, socket: socket)
        let exchange = try exchange()
        handler.start(exchange, now: channel.eventLoop.now)
        try channel.writeInbound(ByteBuffer(bytes: accepted(http2: http2)))
        #expect(!exchange.isOver)
        socket.holdsPromises = true
        handler.finishSending(exchange)
        #expect(!exchange.isOver, "a connection that is closed now loses the end of the body")
        socket.release()
        #expect(exchange.ending != nil && exchange.ending?.error == nil)
        #expect(channel.isActive)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a response waits for the bytes of its own request, not for the upload of another stream")
    func otherStream() throws {
        let socket = ScriptedSocket(blocksAfterWrite: false)
        let (channel, handler) = try connect(http2: true, socket: socket)
        func post(_ body: ByteBuffer) throws -> Exchange {
            let exchange = try exchange(.bytes(body))
            handler.start(exchange, now: channel.eventLoop.now)
            channel.embeddedEventLoop.run()
            return exchange
        }
        func accept(_ stream: UInt32) throws {
            let response = RawFrame.headers([(":status", "202")], stream: stream, flags: 5).bytes
            try channel.writeInbound(ByteBuffer(bytes: response))
        }
        try channel.writeInbound(ByteBuffer(bytes: RawFrame(.settings).bytes))
        let sent = try post(ByteBuffer(string: "sent"))
        socket.holdsWrites = true
        let waiting = try post(ByteBuffer(string: "waiting"))
        _ = try post(large)
        try accept(1)
        #expect(sent.ending != nil && sent.ending?.error == nil)
        try accept(3)
        #expect(!waiting.isOver, "a connection that is closed now loses the body")
        socket.holdsWrites = false
        channel.flush()
        #expect(waiting.ending != nil && waiting.ending?.error == nil)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test(
        "a network that is lost during the upload is an error, although the response is complete",
        arguments: [
            (false, ETIMEDOUT, true), (false, ECONNRESET, false), (true, ETIMEDOUT, true), (true, ECONNRESET, false),
        ] as [(Bool, CInt, Bool)]
    )
    func lostNetwork(http2: Bool, errnoCode: CInt, isError: Bool) throws {
        let (channel, handler) = try connect(http2: http2, socket: ScriptedSocket(blocksAfterWrite: false))
        let exchange = try exchange()
        handler.start(exchange, now: channel.eventLoop.now)
        try channel.writeInbound(ByteBuffer(bytes: accepted(http2: http2)))
        #expect(!exchange.isOver)
        channel.pipeline.fireErrorCaught(IOError(errnoCode: errnoCode, reason: "read"))
        #expect(exchange.isOver)
        let code = exchange.ending?.error?.code
        if isError { #expect(code == .connectionLost) } else { #expect(code == nil) }
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a body that the server does not want is stopped without an error of its exchange")
    func notWanted() async throws {
        let exchange = try exchange(.stream(length: nil) { PieceSequence(ByteBuffer(string: "piece"), count: 3) })
        await exchange.upload(on: DeafCarrier())
        #expect(!exchange.isOver)
    }

    @Test("a large body that is sent slowly does not count as the server's silence")
    func slowBody() throws {
        let (channel, handler) = try connect(http2: false, socket: ScriptedSocket(blocksAfterWrite: true))
        let body = ByteBuffer(bytes: (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 / 7) })
        let exchange = try exchange(.bytes(body))
        handler.start(exchange, now: channel.eventLoop.now)
        for _ in 0..<10 {
            channel.embeddedEventLoop.advanceTime(by: .seconds(50))
            #expect(!exchange.isOver)
            channel.isWritable = true
            channel.pipeline.fireChannelWritabilityChanged()
        }
        channel.embeddedEventLoop.advanceTime(by: .seconds(61))
        #expect(exchange.ending?.error?.code == .idleTimeout, "the whole body was sent, and no response came")
        var sent = ByteBuffer()
        while var piece = try channel.readOutbound(as: ByteBuffer.self) { sent.writeBuffer(&piece) }
        #expect(sent.readableBytesView.suffix(body.readableBytes) == body.readableBytesView)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a large body that cannot be sent at all ends with the idle limit")
    func stuckBody() throws {
        let (channel, handler) = try connect(http2: false, socket: ScriptedSocket(blocksAfterWrite: true))
        let exchange = try exchange(.bytes(large))
        handler.start(exchange, now: channel.eventLoop.now)
        channel.embeddedEventLoop.advanceTime(by: .seconds(61))
        #expect(exchange.ending?.error?.code == .idleTimeout)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }
}

/// A scripted socket that blocks after each write, or whose writes fail at once or complete late.
private final class ScriptedSocket: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    struct Broken: Error {}

    let blocksAfterWrite: Bool
    var isBroken = false
    var closesAtWrite = false
    /// Whether writes complete only with ``release()``.
    var holdsPromises = false
    /// Whether writes wait, as while the peer does not read.
    var holdsWrites = false
    private var held: [EventLoopPromise<Void>] = []

    init(blocksAfterWrite: Bool) { self.blocksAfterWrite = blocksAfterWrite }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isBroken else {
            promise?.fail(Broken())
            return context.fireErrorCaught(Broken())
        }
        guard !closesAtWrite else {
            promise?.fail(Broken())
            return context.close(promise: nil)
        }
        if holdsPromises, let promise {
            held.append(promise)
            return context.write(data, promise: nil)
        }
        context.write(data, promise: promise)
        // It accepts small writes, such as a request's head, without blocking.
        if blocksAfterWrite, unwrapOutboundIn(data).readableBytes > 1_000 {
            (context.channel as? EmbeddedChannel)?.isWritable = false
        }
    }

    func flush(context: ChannelHandlerContext) {
        if !holdsWrites { context.flush() }
    }

    /// Completes the writes so far.
    func release() {
        for promise in held { promise.succeed() }
        held = []
    }
}

/// Accepts every piece of a body.
private final class CountingCarrier: ExchangeCarrier {
    let sizes = NIOLockedValueBox<[Int]>([])
    let isFinished = NIOLockedValueBox(false)

    var isCallerOnLoop: Bool { false }
    func start(_ exchange: Exchange, now: NIODeadline) {}
    func resumeReading(_ exchange: Exchange) {}
    func abandon(_ exchange: Exchange) {}
    func send(_ piece: ByteBuffer, of exchange: Exchange, done: @escaping @Sendable (Bool) -> Void) {
        sizes.withLockedValue { $0.append(piece.readableBytes) }
        done(true)
    }
    func finishSending(_ exchange: Exchange) { isFinished.withLockedValue { $0 = true } }
}

/// Accepts no piece of a body.
private struct DeafCarrier: ExchangeCarrier {
    var isCallerOnLoop: Bool { false }
    func start(_ exchange: Exchange, now: NIODeadline) {}
    func resumeReading(_ exchange: Exchange) {}
    func abandon(_ exchange: Exchange) {}
    func send(_ piece: ByteBuffer, of exchange: Exchange, done: @escaping @Sendable (Bool) -> Void) { done(false) }
    func finishSending(_ exchange: Exchange) {}
}
