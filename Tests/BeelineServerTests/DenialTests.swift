// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import HTTPTypes
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineServer

/// A client must be able to cache and to believe that a name does not exist (RFC 2308 §5).
@Suite("Denials of the DNS server", .timeLimit(.minutes(1)))
struct DenialTests {
    /// A server in front of a DNS server that has each name, with TTL 0, or none.
    private static func lab(
        hasName: NIOLockedValueBox<Bool> = NIOLockedValueBox(false),
        _ change: (inout DNSServerConfiguration) -> Void = { _ in }
    ) async throws -> FaultyDNS {
        let zone = try #require(DNSName("test"))
        return try await FaultyDNS(change: change) { query in
            var message = FaultyDNS.response(to: query, FaultyDNS.correct)
            if hasName.withLockedValue({ $0 }) {
                for index in message.answers.indices { message.answers[index].ttl = 0 }
            } else {
                message.answers = []
                message.flags.responseCode = .noSuchName
                message.authorities = [FaultyDNS.authority(of: zone, minimum: 120)]
            }
            return FaultyDNS.Replies(datagrams: [message.datagram()], stream: message.encoded())
        }
    }

    /// A resolver whose upstreams are the server and `second`.
    private static func client(of lab: FaultyDNS, _ second: ScriptedUpstream) throws -> Resolver {
        var settings = ResolverConfiguration(upstreams: [try DNSUpstream(at: [lab.endpoint]), second], system: nil)
        settings.network.monitor = nil
        return Resolver(settings)
    }

    private static func second() -> ScriptedUpstream {
        ScriptedUpstream("second") { _ in
            .answer(Answer(v4: .addresses([FaultyDNS.forged], ttl: .seconds(60)), v6: nil))
        }
    }

    @Test("a denial of an address has an SOA with the upstream's time, over UDP", arguments: [DNSType.a, .aaaa])
    func hasAuthority(_ type: DNSType) async throws {
        let lab = try await Self.lab()
        // The second reply comes from the cache.
        for _ in 0..<2 {
            let reply = try await lab.ask("gone.test", type)
            #expect(reply.flags.responseCode == .noSuchName)
            #expect(reply.authorities.count == 1 && reply.authorities.first?.name == DNSName("gone.test"))
            #expect((100...120).contains(ServerAnswer(reply).ttl))
        }
        #expect(lab.questions == 1)
        await lab.stop()
    }

    @Test("a denial has an SOA in messages over HTTPS and in JSON, and may be cached as long")
    func overHTTP() async throws {
        let lab = try await ServerLab()
        let message = try await lab.get("/dns-query", method: .post, message: DNSLab.query("none.test", .a))
        let reply = try DNSMessage(octets: message.body)
        #expect(reply.flags.responseCode == .noSuchName && reply.authorities.count == 1)
        #expect((20...30).contains(ServerAnswer(reply).ttl))
        let json = try await lab.get("/resolve?name=none.test&type=AAAA")
        let text = String(decoding: json.body, as: UTF8.self)
        #expect(text.contains(#""Authority":[{"name":"none.test.","type":6,"#), "\(text)")
        #expect(json.fields[.cacheControl] != "max-age=5")
        await lab.stop()
    }

    @Test("a client believes that a name does not exist, and sends it to no other upstream")
    func believed() async throws {
        let lab = try await Self.lab()
        let second = Self.second()
        let client = try Self.client(of: lab, second)
        let error = await #expect(throws: ResolutionError.self) { try await client.resolve(Host("gone.test")) }
        #expect(error?.code == .noSuchName && second.questions.isEmpty)
        await client.shutDown()
        await lab.stop()
    }

    @Test("a list blocks its names for a client that has a second upstream", arguments: ["0.0.0.0 ", "address=/"])
    func lists(_ prefix: String) async throws {
        let list = try ListFolder("\(prefix)ads.test\(prefix.hasSuffix("/") ? "/#" : "")\n")
        let lab = try await Self.lab { $0.listFiles = [list.path] }
        let second = Self.second()
        let client = try Self.client(of: lab, second)
        let error = await #expect(throws: ResolutionError.self) { try await client.resolve(Host("ads.test")) }
        #expect(error?.code == .noSuchName && second.questions.isEmpty && lab.questions == 0)
        await client.shutDown()
        await lab.stop()
    }

    @Test("a deleted name is not answered from the cache of a client of the server")
    func deleted() async throws {
        let hasName = NIOLockedValueBox(true)
        let lab = try await Self.lab(hasName: hasName)
        var settings = ResolverConfiguration(upstreams: [try DNSUpstream(at: [lab.endpoint])], system: nil)
        settings.network.monitor = nil
        settings.families = .v4
        let client = Resolver(settings)
        #expect(try await client.resolve(Host("a.test")).addresses == [FaultyDNS.correct])
        hasName.withLockedValue { $0 = false }
        let error = await #expect(throws: ResolutionError.self) { try await client.resolve(Host("a.test")) }
        #expect(error?.code == .noSuchName)
        await client.shutDown()
        await lab.stop()
    }
}
