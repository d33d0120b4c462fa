// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
package import NIOCore
import NIOPosix
package import Names

/// Plain DNS over UDP (RFC 1035), with TCP for truncated answers.
///
/// Answers are not authenticated. To be accepted, a forged answer must guess the query's port, its ID and the random
/// letter case of its name, and arrive before the real one.
package final class DNSUpstream: ServiceUpstream, NetworkAware {
    /// The name in resolutions and errors.
    package let name: String
    /// One record type per question.
    package let answersOneFamily = true
    /// False.
    package let isAuthenticated = false
    private let servers: [Endpoint]
    private let network = NIOLockedValueBox(Network.unknown)
    private let randomizesCase: Bool
    private let group: any EventLoopGroup

    /// An upstream for DNS servers.
    ///
    /// - Parameters:
    ///   - servers: The servers, in the order to try them; at least one.
    ///   - randomizesCase: Whether to send the name in random letter case, which the answer must repeat. Turn it off
    ///     for a server that does not. Default: true.
    ///   - group: The event loops for the sockets.
    /// - Throws: ``UpstreamError`` with code `misconfigured` if there is no server.
    package init(
        at servers: [Endpoint],
        randomizesCase: Bool = true,
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) throws(UpstreamError) {
        guard let first = servers.first else {
            throw UpstreamError(.misconfigured, "the address of the DNS server is missing")
        }
        self.servers = servers
        self.randomizesCase = randomizesCase
        self.group = group
        name = "dns:\(first)"
    }

    /// In a network without IPv4, translates the servers' IPv4 addresses with the network's NAT64 prefix.
    package func networkChanged(to network: Network) { self.network.withLockedValue { $0 = network } }

    /// Answers a question; see ``Upstream/answer(_:)``.
    package func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        var answer = Answer()
        for family in question.families.members {
            answer[family] = try await reply(
                to: try question.host.dnsName(),
                type: DNSType(family),
                subnet: question.subnet
            ) { (message, asked) throws(UpstreamError) in try message.records(answering: asked, id: message.id) }
        }
        return answer
    }

    /// Answers a question; see ``ServiceUpstream/services(_:)``.
    package func services(_ question: ServiceQuestion) async throws(UpstreamError) -> ServiceReply {
        try await reply(to: question.name, type: .https, subnet: question.subnet) {
            (message, asked) throws(UpstreamError) in try message.services(answering: asked, id: message.id)
        }
    }

    private func reply<Reply>(
        to name: DNSName,
        type: DNSType,
        subnet: IPNetwork?,
        read: (DNSMessage, DNSQuestion) throws(UpstreamError) -> Reply
    ) async throws(UpstreamError) -> Reply {
        let question = DNSQuestion(randomizesCase ? name.withRandomCase() : name, type)
        var edns: EDNS? = EDNS(subnet: subnet)
        var (message, server) = try await exchange(question, edns: edns)
        if message.isRefusalOfEDNS {
            edns = nil
            (message, server) = try await exchange(question, edns: nil)
        }
        guard message.flags.isTruncated else { return try read(message, question) }
        return try read(try await wholeMessage(answering: question, edns: edns, from: server), question)
    }

    /// Asks over UDP. Returns a message that answers this question, and its server.
    private func exchange(
        _ question: DNSQuestion,
        edns: EDNS?
    ) async throws(UpstreamError) -> (DNSMessage, Endpoint) {
        let id = UInt16.random(in: .min ... .max)
        let isStrict = randomizesCase
        let loop = group.next()
        let promise = loop.makePromise(of: (DNSMessage, Endpoint).self)
        let query = DNSMessage.query(question, id: id, edns: edns)
        let network = network.withLockedValue { $0 }
        let servers = network.reachable(servers)
        loop.execute {
            UDPExchange(loop: loop, servers: servers, query: query, promise: promise) { message in
                guard message.flags.isResponse, message.id == id else { return false }
                // Old servers that reject EDNS omit the question section.
                if message.questions.isEmpty { return edns != nil && message.isRefusalOfEDNS }
                return message.questions == [question]
                    && (!isStrict || message.questions.first?.name.wire == question.name.wire)
            }.start()
        }
        return try await promise.outcome()
    }

    /// Asks again over TCP, which has no such size limit (RFC 7766 §5).
    private func wholeMessage(
        answering question: DNSQuestion,
        edns: EDNS?,
        from server: Endpoint
    ) async throws(UpstreamError) -> DNSMessage {
        let stream = DNSStream([server], group: group)
        defer { stream.close() }
        let octets = try await stream.ask { DNSMessage.query(question, id: $0, edns: edns) }
        return try DNSMessage(reply: octets)
    }
}

extension DNSName {
    /// The name with each letter in random case.
    func withRandomCase() -> DNSName {
        var bits = UInt64.random(in: .min ... .max)
        var left = 64
        return DNSName(
            wire: wire.map { octet in
                guard (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(octet | 0x20) else { return octet }
                if left == 0 {
                    bits = .random(in: .min ... .max)
                    left = 64
                }
                defer {
                    bits >>= 1
                    left -= 1
                }
                return octet & 0xdf | (bits & 1 == 1 ? 0x20 : 0)
            }
        )
    }
}
