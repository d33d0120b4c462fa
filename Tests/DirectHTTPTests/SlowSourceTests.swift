// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOCore
import NIOEmbedded
import Names
import Testing

@testable import DirectHTTP
@testable import HTTPWire

/// The exchanges of a connection, on a manual clock.
@Suite("Slow request bodies and lost connections")
struct SlowSourceTests {
    /// A handler on a connected channel, and an exchange for it.
    private func start(http2: Bool) throws -> (EmbeddedChannel, any ConnectionHandler, Exchange) {
        let channel = EmbeddedChannel()
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        let wakes = WakeQueue(channel.embeddedEventLoop)
        let handler: any ConnectionHandler & ChannelHandler =
            http2
            ? HTTP2Handler(
                .test(),
                now: channel.eventLoop.now,
                wakes: wakes,
                notify: { _ in }
            )
            : HTTP1Handler(
                .test(),
                isForwarded: false,
                isSecured: false,
                wakes: wakes,
                notify: { _ in }
            )
        try channel.pipeline.syncOperations.addHandler(handler)
        return (channel, handler, try exchange())
    }

    private func exchange(fields: HTTPFields = [:]) throws -> Exchange {
        let body = RequestBody.stream(length: nil) { PieceSequence(ByteBuffer(), count: 0) }
        let request = try PreparedRequest(.post, HTTPURL("http://a.test/"), fields: fields, body: body)
        return Exchange(request: request, limits: ExchangeLimits(bufferedBytes: 64 * 1024, idle: .seconds(60)))
    }

    @Test("a slow body source does not count as the server's silence", arguments: [false, true])
    func slowSource(http2: Bool) throws {
        let (channel, handler, exchange) = try start(http2: http2)
        handler.start(exchange, now: channel.eventLoop.now)
        for _ in 0..<3 {
            channel.embeddedEventLoop.advanceTime(by: .seconds(500))
            handler.send(ByteBuffer(string: "piece"), of: exchange) { #expect($0) }
        }
        channel.embeddedEventLoop.advanceTime(by: .seconds(530))
        #expect(!exchange.isOver)
        handler.finishSending(exchange)
        channel.embeddedEventLoop.advanceTime(by: .seconds(59))
        #expect(!exchange.isOver, "it counts from the body's end")
        channel.embeddedEventLoop.advanceTime(by: .seconds(2))
        #expect(exchange.ending?.error?.code == .idleTimeout)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test(
        "a server that answers instead of asking for the body and then falls silent is timed out",
        arguments: [false, true]
    )
    func silentRefusal(http2: Bool) throws {
        let (channel, handler, _) = try start(http2: http2)
        let exchange = try exchange(fields: [.expect: "100-continue"])
        handler.start(exchange, now: channel.eventLoop.now)
        let head =
            http2
            ? RawFrame(.settings).bytes + RawFrame.headers([(":status", "401")], stream: 1).bytes
            : Array("HTTP/1.1 401 Unauthorized\r\nContent-Length: 10\r\n\r\nabc".utf8)
        try channel.writeInbound(ByteBuffer(bytes: head))
        channel.embeddedEventLoop.advanceTime(by: .seconds(61))
        #expect(exchange.ending?.error?.code == .idleTimeout)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a 2xx response without 100 Continue stops the body only when it is complete", arguments: [false, true])
    func begunResponse(http2: Bool) throws {
        let (channel, handler, _) = try start(http2: http2)
        let exchange = try exchange(fields: [.expect: "100-continue"])
        handler.start(exchange, now: channel.eventLoop.now)
        let head =
            http2
            ? RawFrame(.settings).bytes + RawFrame.headers([(":status", "200")], stream: 1).bytes
            : Array("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n".utf8)
        try channel.writeInbound(ByteBuffer(bytes: head))
        let gate = try #require(exchange.gate)
        #expect(!gate.isRefused, "the server may answer while it reads the body")
        let content = Array("abc".utf8)
        let rest =
            http2 ? RawFrame(.data, flags: RawFrame.endStream, stream: 1, payload: content).bytes : content
        try channel.writeInbound(ByteBuffer(bytes: rest))
        #expect(gate.isRefused)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a request on a lost connection counts as not sent, so any method may be repeated", arguments: [false, true])
    func gone(http2: Bool) throws {
        let (channel, handler, exchange) = try start(http2: http2)
        _ = try channel.finish(acceptAlreadyClosed: true)
        handler.start(exchange, now: channel.eventLoop.now)
        #expect(exchange.ending?.error?.isUnprocessed == true)
    }
}
