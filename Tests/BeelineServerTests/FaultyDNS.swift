// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import NIOConcurrencyHelpers
import Names

@testable import BeelineServer

/// A DNS server whose upstream is a DNS server with faults. All queries and replies go over real sockets.
final class FaultyDNS: Sendable {
    /// What the faulty server sends for a query.
    struct Replies: Sendable {
        var datagrams: [DatagramServer.Reply] = []
        /// Over TCP. Nil closes the connection.
        var stream: [UInt8]?
    }

    /// The address in answers that no client may see.
    static let forged = IPAddress(v4: 0xcb00_7142)
    /// The address in correct answers.
    static let correct = IPAddress(v4: 0xc633_6401)

    let server: DNSServer
    let endpoint: Endpoint
    let metrics: Endpoint?
    private let resolver: Resolver
    private let tcp: RawServer
    private let udp: DatagramServer
    private let asked: NIOLockedValueBox<Int>

    init(
        change: (inout DNSServerConfiguration) -> Void = { _ in },
        limits: ResolverConfiguration.Limits = .init(),
        _ replies: @escaping @Sendable (DNSMessage) -> Replies
    ) async throws {
        let asked = NIOLockedValueBox(0)
        self.asked = asked
        tcp = try await RawServer.start { connection in
            while true {
                let length = try await connection.receive(count: 2)
                let octets = try await connection.receive(count: Int(length[0]) << 8 | Int(length[1]))
                guard let reply = replies(try DNSMessage(octets: octets)).stream else {
                    return await connection.close()
                }
                try await connection.send([UInt8(reply.count >> 8), UInt8(reply.count & 255)] + reply)
            }
        }
        udp = try await DatagramServer.start(at: tcp.endpoint) { octets in
            asked.withLockedValue { $0 += 1 }
            return (try? DNSMessage(octets: octets)).map { replies($0).datagrams } ?? []
        }
        var settings = ResolverConfiguration(upstreams: [try DNSUpstream(at: [tcp.endpoint])], system: nil)
        settings.network.monitor = nil
        settings.limits = limits
        resolver = Resolver(settings)
        var configuration = DNSServerConfiguration()
        configuration.listen = [Endpoint(DNSLab.loopback, port: 0)]
        change(&configuration)
        server = try DNSServer(configuration, resolver: resolver)
        let endpoints = try await server.start()
        (endpoint, metrics) = (endpoints.plain[0], endpoints.metrics)
    }

    /// Limits for upstreams that do not answer.
    static let shortLimits: ResolverConfiguration.Limits = {
        var limits = ResolverConfiguration.Limits()
        (limits.upstream, limits.total) = (.milliseconds(300), .milliseconds(600))
        return limits
    }()

    /// The number of queries over UDP at the faulty server.
    var questions: Int { asked.withLockedValue { $0 } }

    /// Asks the server over UDP, and over TCP if the reply is truncated.
    func ask(_ name: String, _ type: DNSType) async throws -> DNSMessage {
        guard let name = DNSName(name) else { throw ServerError(.cannotListen, "\(name) is no name") }
        return try await DNSUpstream(at: [endpoint]).response(to: MessageQuery(DNSQuestion(name, type)))
    }

    func stop() async {
        await server.stop()
        await resolver.shutDown()
        await udp.stop()
        await tcp.stop()
    }

    // MARK: Messages

    /// A response to a query with records for its name: addresses for A, texts for TXT, nothing for other types.
    static func response(to query: DNSMessage, _ address: IPAddress, count: Int = 1) -> DNSMessage {
        var message = DNSMessage(id: query.id, questions: query.questions)
        message.flags.isResponse = true
        message.flags.recursionAvailable = true
        guard let question = query.questions.first else { return message }
        for number in 0..<count {
            switch question.type {
            case .a: message.answers.append(DNSRecord(question.name, ttl: 60, .address(address)))
            case DNSLab.text:
                let text = address.octets + [UInt8(number >> 8), UInt8(number & 255)]
                let content = [UInt8(text.count)] + text
                message.answers.append(DNSRecord(question.name, ttl: 60, .other(DNSLab.text, content)))
            default: break
            }
        }
        return message
    }

    /// The SOA of a zone whose denials may be cached for `minimum` seconds.
    static func authority(of zone: DNSName, minimum: UInt32) -> DNSRecord {
        let soa = DNSRecord.StartOfAuthority(
            primary: zone,
            mailbox: zone,
            serial: 1,
            refresh: 1,
            retry: 1,
            expire: 1,
            minimum: minimum
        )
        return DNSRecord(zone, ttl: 3_600, .authority(soa))
    }
}

extension DNSMessage {
    /// The message as a datagram.
    func datagram(isFromElsewhere: Bool = false) -> DatagramServer.Reply {
        DatagramServer.Reply(encoded() ?? [], isFromElsewhere: isFromElsewhere)
    }

    /// Whether the message has the octets of an address anywhere.
    func mentions(_ address: IPAddress) -> Bool {
        let octets = encoded() ?? []
        return octets.indices.contains { octets[$0...].starts(with: address.octets) }
    }
}
