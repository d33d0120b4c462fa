// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import NIOEmbedded
import Names
import Testing

@testable import DirectHTTP
@testable import HTTPWire

@Suite("Acknowledgement of a response that comes in parts")
struct DelayedAcknowledgementTests {
    #if os(Linux)
    /// A server with Nagle's algorithm keeps the body back until its head is acknowledged, which the delayed ACK of the handshake
    /// had put off by 40 ms.
    @Test("a head without its body is acknowledged at once, and a complete response costs no system call")
    func headWithoutBody() throws {
        let channel = EmbeddedChannel()
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        let handler = HTTP1Handler(
            isForwarded: false,
            limits: .init(),
            keepIdle: .hours(1),
            isSecured: false,
            wakes: WakeQueue(channel.embeddedEventLoop),
            notify: { _ in }
        )
        try channel.pipeline.syncOperations.addHandler(handler)
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
        for (parts, options) in [([head + "ok"], 0), ([head, "o", "k"], 1), ([head, "ok"], 1)] {
            let request = try PreparedRequest(.get, HTTPURL("http://a.test/"), fields: [:])
            let exchange = Exchange(
                request: request,
                limits: ExchangeLimits(bufferedBytes: 64 * 1024, idle: .seconds(60))
            )
            handler.start(exchange, now: channel.eventLoop.now)
            for part in parts { try channel.writeInbound(ByteBuffer(string: part)) }
            let set = channel.options.filter { $0.option is ChannelOptions.Types.SocketOption }
            #expect(set.count == options)
        }
        _ = try channel.finish(acceptAlreadyClosed: true)
    }
    #endif
}
