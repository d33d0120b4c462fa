// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
import BeelineTesting
import Glibc
import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Names
import Testing

@testable import DirectHTTP

@Suite("The end of a handshake goes with the first bytes", .timeLimit(.minutes(1)))
struct HandshakeEndTests {
    /// Counts the segments that had come with the first bytes of each connection, and answers.
    private final class Counter: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        let counts = NIOLockedValueBox<[UInt32]>([])

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if let options = context.channel as? any SocketOptionProvider {
                options.unsafeGetSocketOption(level: .tcp, name: NIOBSDSocket.Option(rawValue: TCP_INFO))
                    .whenSuccess { [counts] (info: SegmentCounts) in
                        counts.withLockedValue { $0.append(info.received) }
                    }
            }
            let answer = ByteBuffer(string: "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
            context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
        }
    }

    /// As much of Linux's `struct tcp_info` as has the count of segments, which the C library does not declare.
    private struct SegmentCounts: Sendable {
        private var head: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
        private var middle: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
        private var bytesReceived: UInt64 = 0
        private var sent: UInt32 = 0
        private(set) var received: UInt32 = 0
    }

    @Test("an exchange's first bytes end the handshake, without a segment of its own")
    func savedSegment() async throws {
        let counter = Counter()
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { $0.pipeline.addHandler(counter) }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = UInt16(server.localAddress?.port ?? 0)
        let endpoint = Endpoint(IPAddress(v4: 0x7f00_0001), port: port)
        let engine = Engine()
        // The kernel waits for 200 ms only, which a busy machine may need once for the way from one call to the next.
        for _ in 0..<3 {
            let request = try PreparedRequest(.get, HTTPURL("http://a.test:\(port)/"))
            let response = try await engine.exchange(request, from: EndpointList([endpoint]))
            _ = try await response.text()
        }
        let bare = try await RawConnection.connect(to: endpoint)
        try await bare.send("GET / HTTP/1.1\r\n\r\n")
        _ = try await bare.receive(until: "\r\n\r\n")
        await bare.close()
        let counts = counter.counts.withLockedValue { $0 }
        #expect(counts.count == 4)
        #expect(try #require(counts.dropLast().min()) + 1 == counts.last)
        await engine.shutDown()
        try await server.close()
    }
}
#endif
