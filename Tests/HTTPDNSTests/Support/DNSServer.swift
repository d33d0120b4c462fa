// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
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
    private let udp: DatagramServer
    private let tcp: RawServer

    private init(_ endpoint: Endpoint, udp: DatagramServer, tcp: RawServer) {
        self.endpoint = endpoint
        self.udp = udp
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
        let server = try await DatagramServer.start(at: tcp.endpoint) { octets in
            guard let query = try? DNSMessage(octets: octets) else { return [] }
            return udp(query).map { DatagramServer.Reply($0.octets, isFromElsewhere: $0.fromElsewhere) }
        }
        return DNSServer(tcp.endpoint, udp: server, tcp: tcp)
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
        await udp.stop()
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
}
