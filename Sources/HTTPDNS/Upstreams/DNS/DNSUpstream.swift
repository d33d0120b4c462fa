// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
package import Names

/// Plain DNS over UDP (RFC 1035), with TCP for truncated answers.
///
/// Answers are not authenticated. A forged answer is accepted only if it has the query's port, its ID and the random
/// letter case of its name, and arrives before the real one. If the only response has another letter case, the question
/// is asked again over TCP. If that response also has another case, the server does not keep the case. Later questions
/// are then sent without random case.
package final class DNSUpstream: MessageUpstream, NetworkAware {
    package let name: String
    package let answersOneFamily = true
    /// False.
    package let isAuthenticated = false
    private let servers: [Endpoint]
    private let network = NIOLockedValueBox(Network.unknown)
    /// Whether a response over TCP had another letter case, so that the server does not keep the case.
    private let keepsNoCase = NIOLockedValueBox(false)

    /// An upstream for DNS servers.
    ///
    /// - Parameter servers: The servers, in the order to try them.
    /// - Throws: ``UpstreamError`` with code `misconfigured` if there is no server.
    package init(at servers: [Endpoint]) throws(UpstreamError) {
        guard let first = servers.first else {
            throw UpstreamError(.misconfigured, "the address of the DNS server is missing")
        }
        self.servers = servers
        name = "dns:\(first)"
    }

    /// In a network without IPv4, translates the servers' IPv4 addresses with the network's NAT64 prefix.
    package func networkChanged(to network: Network) { self.network.withLockedValue { $0 = network } }

    package func response(to query: MessageQuery) async throws(UpstreamError) -> DNSMessage {
        let question = query.question
        let isRandom = !keepsNoCase.withLockedValue { $0 }
        let asked = DNSQuestion(isRandom ? question.name.withRandomCase() : question.name, question.type)
        var edns: EDNS? = query.edns()
        var reply = try await exchange(asked, isExact: isRandom, edns: edns, checks: query.checks)
        if reply.message.isRefusalOfEDNS, !query.wantsSignatures {
            edns = nil
            reply = try await exchange(asked, isExact: isRandom, edns: nil, checks: query.checks)
        }
        // Another letter case means that the server does not keep it, or that the datagram is forged. TCP responses
        // cannot be forged.
        let isExact = !isRandom || reply.message.questions.first?.name.wire == asked.name.wire
        if reply.message.flags.isTruncated || !isExact {
            reply.octets = try await octetsOverTCP(asked, edns: edns, checks: query.checks, from: reply.server)
            let whole = try DNSMessage(reply: reply.octets)
            if isRandom, whole.questions == [asked], whole.questions[0].name.wire != asked.name.wire {
                keepsNoCase.withLockedValue { $0 = true }
            }
        }
        // Compressed names that point to the question get its original letter case.
        let place = DNSMessage.headerSize..<(DNSMessage.headerSize + question.name.wire.count)
        if place.upperBound <= reply.octets.count, DNSName(wire: Array(reply.octets[place])) == question.name {
            reply.octets.replaceSubrange(place, with: question.name.wire)
        }
        return try query.checked(try DNSMessage(reply: reply.octets))
    }

    /// Asks over UDP. Returns a message that answers this question.
    ///
    /// - Parameter isExact: Whether an answer in the same letter case is preferred.
    private func exchange(
        _ question: DNSQuestion,
        isExact: Bool,
        edns: EDNS?,
        checks: UInt8
    ) async throws(UpstreamError) -> UDPExchange.Reply {
        let id = UInt16.random(in: .min ... .max)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = loop.makePromise(of: UDPExchange.Reply.self)
        let query = DNSMessage.query(question, id: id, edns: edns, checks: checks)
        let network = network.withLockedValue { $0 }
        let servers = network.reachable(servers)
        loop.execute {
            let exchange = UDPExchange(
                loop: loop,
                servers: servers,
                query: query,
                promise: promise,
                repeating: isExact ? question.name : nil
            ) { message in
                guard message.flags.isResponse, message.id == id else { return false }
                // Old servers that reject EDNS omit the question section.
                if message.questions.isEmpty { return edns != nil && message.isRefusalOfEDNS }
                return message.questions == [question]
            }
            exchange.start()
        }
        return try await promise.outcome()
    }

    /// Asks again over TCP, which has no such size limit (RFC 7766 §5).
    private func octetsOverTCP(
        _ question: DNSQuestion,
        edns: EDNS?,
        checks: UInt8,
        from server: Endpoint
    ) async throws(UpstreamError) -> [UInt8] {
        let stream = DNSStream([server])
        defer { stream.close() }
        let octets = try await stream.ask { DNSMessage.query(question, id: $0, edns: edns, checks: checks) }
        // A name of another length must not be replaced by the question's.
        guard try DNSMessage(reply: octets).questions == [question] else {
            throw UpstreamError(.wrongAnswer, "the response is for another question")
        }
        return octets
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
