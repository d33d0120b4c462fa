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

@Suite("The handshake's last ACK is sent with the first bytes", .timeLimit(.minutes(1)))
struct HandshakeEndTests {
    /// Counts the segments received up to the first bytes of each connection, and sends a reply.
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

    /// The part of Linux's `struct tcp_info` up to the count of segments. The C library does not declare that field.
    private struct SegmentCounts: Sendable {
        private var head: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
        private var middle: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
        private var bytesReceived: UInt64 = 0
        private var sent: UInt32 = 0
        private(set) var received: UInt32 = 0
    }

    @Test("the first bytes of an exchange carry the handshake's last ACK, which saves a segment")
    func savedSegment() async throws {
        let counter = Counter()
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { $0.pipeline.addHandler(counter) }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = UInt16(server.localAddress?.port ?? 0)
        let endpoint = Endpoint(IPAddress(v4: 0x7f00_0001), port: port)
        let engine = Engine()
        // The kernel delays the ACK for 200 ms only. On a busy machine one connection may exceed that.
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
