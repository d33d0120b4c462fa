// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import HTTPDNS
import NIOConcurrencyHelpers
import NIOCore
import Names
import Testing

import class NIOPosix.ClientBootstrap
import class NIOPosix.MultiThreadedEventLoopGroup

@testable import BeelineServer

@Suite("TCP clients of the DNS server that do not read their replies", .timeLimit(.minutes(1)))
struct DNSSlowClientTests {
    @Test("a client that has sent its last question and never reads the reply is disconnected when it is idle")
    func unreadLastReply() async throws {
        let gate = Gate()
        let lab = try DNSLab([DNSSocketTests.LargeUpstream(gate)], limit: .seconds(60)) {
            $0.listen = [Endpoint(DNSLab.loopback, port: 0)]
            $0.idleTimeout = .seconds(1)
        }
        let listeners = try DNSListeners(lab.service.configuration, lab.service)
        let endpoint = try await listeners.start().plain[0]
        let client = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false)
            .channelOption(.socketOption(.so_rcvbuf), value: 4_096)
            .connect(host: endpoint.address.description, port: Int(endpoint.port))
            .get()
        let query = DNSLab.query("a.example", DNSLab.text)
        try await client.writeAndFlush(ByteBuffer(bytes: [0, UInt8(query.count)] + query))
        try await client.close(mode: .output)
        try await gate.arrivals(atLeast: 1)
        let connection = try #require(lab.service.connections.channels.first)
        // The sockets cannot take the reply, and it makes the channel unwritable.
        try await connection.setOption(.socketOption(.so_sndbuf), value: 4_096).get()
        let mark = ChannelOptions.Types.WriteBufferWaterMark(low: 1, high: 1)
        try await connection.setOption(.writeBufferWaterMark, value: mark).get()
        // The idle time of a connection that was opened later passes first.
        let idle = try await RawConnection.connect(to: endpoint)
        #expect(try await idle.drain() == 0)
        gate.open()
        try await eventually("the end of the connection") { lab.service.connections.counts.open == 0 }
        try? await client.close().get()
        await listeners.stop()
        await lab.resolver.shutDown()
    }

    @Test("a server that stops sends the rest of a reply to a client that has read only its start")
    func unreadReplyAtStop() async throws {
        let gate = Gate()
        let lab = try DNSLab([DNSSocketTests.LargeUpstream(gate)], limit: .seconds(60)) {
            $0.listen = [Endpoint(DNSLab.loopback, port: 0)]
            $0.drainTime = .seconds(30)
        }
        let listeners = try DNSListeners(lab.service.configuration, lab.service)
        let endpoint = try await listeners.start().plain[0]
        let count = OctetCount()
        let client = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false)
            .channelOption(.socketOption(.so_rcvbuf), value: 4_096)
            .channelInitializer { $0.pipeline.addHandler(count) }
            .connect(host: endpoint.address.description, port: Int(endpoint.port))
            .get()
        let query = DNSLab.query("a.example", DNSLab.text)
        try await client.writeAndFlush(ByteBuffer(bytes: [0, UInt8(query.count)] + query))
        try await gate.arrivals(atLeast: 1)
        let connection = try #require(lab.service.connections.channels.first)
        try await connection.setOption(.socketOption(.so_sndbuf), value: 4_096).get()
        gate.open()
        try await eventually("a full socket") { try await connection.getOption(.bufferedWritableBytes).get() > 0 }
        async let stop: Void = listeners.stop()
        try await eventually("the end of listening") { !listeners.isListening }
        try await client.setOption(.autoRead, value: true).get()
        try await withTimeLimit(.seconds(20), for: { "the end" }) { try await client.closeFuture.get() }
        #expect(count.value.withLockedValue { $0 } > 60_000)
        await stop
        await lab.resolver.shutDown()
    }

    /// Counts the octets that a client reads.
    private final class OctetCount: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer

        let value = NIOLockedValueBox(0)

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let count = unwrapInboundIn(data).readableBytes
            value.withLockedValue { $0 += count }
        }
    }
}
