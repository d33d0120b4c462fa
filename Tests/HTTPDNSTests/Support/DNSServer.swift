// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import NIOCore
import NIOPosix
import Names

@testable import HTTPDNS

/// A DNS server on loopback that answers with closures, over UDP and TCP at one port.
final class DNSServer: Sendable {
    /// A datagram of the answer. With `fromElsewhere` it is sent from another port.
    struct Datagram: Sendable {
        var octets: [UInt8]
        var fromElsewhere = false
    }

    let endpoint: Endpoint
    private let channel: any Channel
    private let elsewhere: any Channel
    private let tcp: RawServer

    private init(_ endpoint: Endpoint, channel: any Channel, elsewhere: any Channel, tcp: RawServer) {
        self.endpoint = endpoint
        self.channel = channel
        self.elsewhere = elsewhere
        self.tcp = tcp
    }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - udp: Returns the datagrams for a query, in order.
    ///   - stream: Returns the response for a query over TCP.
    ///   - address: A loopback address.
    static func start(
        at address: String = "127.0.0.1",
        udp: @escaping @Sendable (DNSMessage) -> [Datagram],
        stream: @escaping @Sendable (DNSMessage) -> DNSMessage = { reply(to: $0, []) }
    ) async throws -> DNSServer {
        // TCP picks the port. UDP has its own ports, so the same number is free there.
        let tcp = try await RawServer.start(addresses: [address]) { connection in try await serve(connection, stream) }
        let group = MultiThreadedEventLoopGroup.singleton
        let elsewhere = try await DatagramBootstrap(group: group).bind(host: address, port: 0).get()
        let channel = try await DatagramBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Answering(answer: udp, elsewhere: elsewhere))
                }
            }
            .bind(host: address, port: Int(tcp.port))
            .get()
        return DNSServer(tcp.endpoint, channel: channel, elsewhere: elsewhere, tcp: tcp)
    }

    /// Answers the messages of a connection.
    static func serve(_ connection: RawConnection, _ answer: @Sendable (DNSMessage) -> DNSMessage) async throws {
        while true {
            let length = try await connection.receive(count: 2)
            let octets = try await connection.receive(count: Int(length[0]) << 8 | Int(length[1]))
            guard let reply = answer(try DNSMessage(octets: octets)).encoded() else { return }
            try await connection.send([UInt8(reply.count >> 8), UInt8(reply.count & 255)] + reply)
        }
    }

    func stop() async {
        try? await channel.close()
        try? await elsewhere.close()
        await tcp.stop()
    }

    var tcpConnections: Int { tcp.connections.accepted }

    /// A response to a query, with these answers.
    static func reply(to query: DNSMessage, _ answers: [DNSRecord], bits: UInt16 = 0x8180) -> DNSMessage {
        DNSMessage(id: query.id, flags: DNSMessage.Flags(bits: bits), questions: query.questions, answers: answers)
    }

    /// A datagram with a response that has one address for the name of the query.
    static func answer(_ query: DNSMessage, _ text: String) -> Datagram {
        let name = query.questions.first?.name ?? .root
        let message = reply(to: query, [DNSRecord(name, ttl: 60, .address(address(text)))])
        return Datagram(octets: message.encoded() ?? [])
    }

    private final class Answering: ChannelInboundHandler {
        typealias InboundIn = AddressedEnvelope<ByteBuffer>
        typealias OutboundOut = AddressedEnvelope<ByteBuffer>

        let answer: @Sendable (DNSMessage) -> [Datagram]
        let elsewhere: any Channel

        init(answer: @escaping @Sendable (DNSMessage) -> [Datagram], elsewhere: any Channel) {
            self.answer = answer
            self.elsewhere = elsewhere
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let envelope = unwrapInboundIn(data)
            guard let query = try? DNSMessage(octets: Array(envelope.data.readableBytesView)) else { return }
            for datagram in answer(query) {
                let reply = AddressedEnvelope(
                    remoteAddress: envelope.remoteAddress,
                    data: ByteBuffer(bytes: datagram.octets)
                )
                if datagram.fromElsewhere {
                    elsewhere.writeAndFlush(reply, promise: nil)
                } else {
                    context.writeAndFlush(wrapOutboundOut(reply), promise: nil)
                }
            }
        }
    }
}
