// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import Names
import Testing

@testable import BeelineServer
@testable import HTTPDNS

/// Messages with random changes, to the server and from its upstreams. `BEELINE_FUZZ=1000000` sets their number.
@Suite("Mutated DNS messages", .timeLimit(.minutes(60)))
struct DNSMutationTests {
    @Test("mutated queries never trap, and every reply can be read")
    func queries() async throws {
        let lab = try DNSLab([MessageDouble { MessageDouble.text($0, 3) }])
        var random = SeededRandom(seed: 35)
        // With a client subnet.
        let option: [UInt8] = [0, 0, 41, 4, 208, 0, 0, 0x80, 0, 0, 8, 0, 8, 0, 4, 0, 1, 0, 0]
        let seed = DNSLab.query("www.example.com", DNSLab.text).dropLast(11) + option
        var answered = 0
        for _ in 0..<FuzzRounds.count(ordinary: 20_000) {
            var octets = Array(seed)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                octets[Int.random(in: octets.indices, using: &random)] = .random(in: 0...255, using: &random)
            }
            if Bool.random(using: &random) { octets.removeLast(Int.random(in: 0..<octets.count, using: &random)) }
            guard let reply = await lab.service.reply(to: octets) else { continue }
            answered += 1
            #expect(reply.count >= 12 && reply[2] & 0x80 != 0 && reply[0] == octets[0])
            #expect(throws: Never.self) { try DNSMessage(octets: reply) }
        }
        #expect(answered > 100)
        await lab.resolver.shutDown()
    }

    @Test("mutated messages over TCP never trap, and their pieces do not change the replies")
    func streams() throws {
        let lab = try DNSLab([]) {
            $0.questionsPerSecond = nil
            // No question may wait for an upstream, so every reply comes at once.
            $0.maxPendingQuestions = 0
        }
        var random = SeededRandom(seed: 37)
        let query = DNSLab.query("www.example.com", DNSLab.text)
        let frame = [UInt8(query.count >> 8), UInt8(query.count & 255)] + query
        var answered = 0
        for _ in 0..<FuzzRounds.count(ordinary: 5_000) {
            var octets = frame + frame + frame
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                octets[Int.random(in: octets.indices, using: &random)] = .random(in: 0...255, using: &random)
            }
            octets.removeLast(Int.random(in: 0..<8, using: &random))
            let whole = try Self.replies(to: octets, piece: octets.count, lab.service)
            let pieces = try Self.replies(to: octets, piece: Int.random(in: 1...30, using: &random), lab.service)
            #expect(whole.isOpen == pieces.isOpen && whole.octets == pieces.octets)
            if !whole.octets.isEmpty { answered += 1 }
        }
        #expect(answered > 100)
    }

    /// The replies to a stream that arrives in pieces, and whether the connection is still open.
    private static func replies(
        to octets: [UInt8],
        piece: Int,
        _ service: DNSService
    ) throws -> (octets: [UInt8], isOpen: Bool) {
        let channel = EmbeddedChannel()
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        try channel.pipeline.syncOperations.addHandler(StreamHandler(service, client: DNSLab.loopback, .tcp))
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1_000), promise: nil)
        var rest = octets[...]
        while !rest.isEmpty, channel.isActive {
            try channel.writeInbound(ByteBuffer(bytes: rest.prefix(piece)))
            rest = rest.dropFirst(piece)
        }
        var replies: [UInt8] = []
        while let reply = try channel.readOutbound(as: ByteBuffer.self) {
            let octets = Array(reply.readableBytesView)
            #expect(throws: Never.self) { try DNSMessage(octets: Array(octets.dropFirst(2))) }
            replies += octets
        }
        return (replies, channel.isActive)
    }

    /// An upstream whose response consists of given octets, read as the other upstreams read theirs.
    private final class OctetUpstream: MessageUpstream {
        let name = "octets"
        let answersOneFamily = true
        let isAuthenticated = true
        let octets = NIOLockedValueBox<[UInt8]>([])

        func response(to query: MessageQuery) async throws(UpstreamError) -> DNSMessage {
            try query.checked(try DNSMessage(reply: octets.withLockedValue { $0 }))
        }

        func answer(_ question: HTTPDNS.Question) async throws(UpstreamError) -> Answer {
            var answer = Answer()
            for family in question.families.members {
                let query = MessageQuery(DNSQuestion(try question.host.dnsName(), family == .v4 ? .a : .aaaa))
                let message = try await response(to: query)
                answer[family] = try message.records(answering: query.question)
            }
            return answer
        }
    }

    @Test("mutated responses of an upstream never trap on their way to a client, and every reply can be read")
    func responses() async throws {
        let upstream = OctetUpstream()
        let lab = try DNSLab([upstream])
        var random = SeededRandom(seed: 36)
        let seeds = try [DNSType.a, DNSLab.text].map { type in try (type: type, octets: Self.response(type)) }
        var answered = 0
        for round in 0..<FuzzRounds.count(ordinary: 5_000) {
            let seed = seeds[round % seeds.count]
            var (query, octets) = (DNSLab.query("n0000000.example", seed.type), seed.octets)
            // Each round asks for another name, which is in no cache.
            for (place, digit) in String(round % 10_000_000 + 10_000_000).utf8.dropFirst().enumerated() {
                query[14 + place] = digit
                octets[14 + place] = digit
            }
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                octets[Int.random(in: 2..<octets.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            upstream.octets.withLockedValue { $0 = octets }
            let reply = try DNSMessage(octets: try #require(await lab.service.reply(to: query)))
            #expect(reply.questions == [try QueryHead(query).question])
            if !reply.answers.isEmpty { answered += 1 }
        }
        #expect(answered > 100)
        await lab.resolver.shutDown()
    }

    /// A response with an alias, an address, records of other types and an extended error.
    private static func response(_ type: DNSType) throws -> [UInt8] {
        let name = try #require(DNSName("n0000000.example"))
        let target = try #require(DNSName("t.example"))
        var message = DNSMessage(questions: [DNSQuestion(name, type)])
        message.flags.isResponse = true
        message.answers = [
            DNSRecord(name, ttl: 60, .alias(target)), DNSRecord(target, ttl: 60, .other(DNSLab.text, [1, 0x61])),
            DNSRecord(target, ttl: 60, .other(.signature, [UInt8](repeating: 1, count: 24))),
            DNSRecord(target, ttl: 60, .address(FaultyDNS.correct)),
        ]
        message.additionals = [DNSRecord(.root, ttl: 0, .other(.opt, [0, 15, 0, 3, 0, 6, 0x6f]), recordClass: 1_232)]
        return try #require(message.encoded())
    }
}
