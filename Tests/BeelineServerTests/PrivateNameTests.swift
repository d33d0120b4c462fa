// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import NIOCore
import Names
import Testing

@testable import BeelineServer

@Suite("Private names, which only this machine's resolver can answer")
struct PrivateNameTests {
    private static let address = "10.0.0.5"

    /// Makes a service whose system resolver knows all names.
    private static func service(
        _ clients: PrivateNameAccess,
        tables: [any Upstream] = []
    ) throws -> (ServerService, Resolver) {
        let answer = Answer(v4: .addresses([try #require(IPAddress(address))], ttl: .seconds(60)))
        let system = ScriptedUpstream("system", kind: .system) { _ in .answer(answer) }
        let upstream = ScriptedUpstream("script") { _ in
            .answer(Answer(v4: .addresses([IPAddress(v4: 0xc633_6401)], ttl: .seconds(60))))
        }
        var settings = ResolverConfiguration(upstreams: tables + [upstream], system: system)
        settings.network.monitor = nil
        settings.names.denied = ["corp.example.com"]
        let resolver = Resolver(settings)
        var configuration = ServerConfiguration()
        configuration.privateNames = clients
        return (ServerService(configuration, resolver: resolver, zones: try ZoneFiles([])), resolver)
    }

    private static func reply(_ service: ServerService, _ request: ServerRequest) async -> ServerReply {
        switch service.handle(request, now: .now()) {
        case .reply(let reply): reply
        case .later(_, let wait): await wait()
        }
    }

    private static func body(_ service: ServerService, _ request: ServerRequest) async -> [UInt8] {
        await reply(service, request).body
    }

    /// Asks for a name in each form. Returns whether the client gets the private address.
    private static func told(by service: ServerService, name: String, client: String) async throws -> [String: Bool] {
        let client = try #require(IPAddress(client))
        var told: [String: Bool] = [:]
        for target in ["/resolve?name=", "/d?dn=", "/1/d?host=", "/1/resolve?host=", "/v2/d?dn="] {
            let body = await body(service, ServerRequest(.get, target: target + name, client: client))
            told[target] = String(decoding: body, as: UTF8.self).contains(address)
        }
        let question = DNSQuestion(try #require(DNSName(name)), .a)
        let message = try #require(DNSMessage(questions: [question]).encoded())
        let type = "application/dns-message"
        let request = ServerRequest(.post, target: "/dns-query", contentType: type, body: message, client: client)
        let reply = try DNSMessage(octets: await body(service, request))
        told["/dns-query"] = !reply.answers.isEmpty
        if reply.answers.isEmpty { #expect(reply.flags.responseCode == .refused) }
        return told
    }

    @Test(
        "only clients of this machine get answers for private names, unless the setting allows all or none",
        arguments: [
            (.forLoopback, "127.0.0.1", true), (.forLoopback, "::1", true), (.forLoopback, "192.0.2.7", false),
            (.forLoopback, "10.0.0.9", false), (.forAll, "192.0.2.7", true), (.forNone, "127.0.0.1", false),
        ] as [(PrivateNameAccess, String, Bool)]
    )
    func clients(_ clients: PrivateNameAccess, _ client: String, _ isTold: Bool) async throws {
        let (service, resolver) = try Self.service(clients)
        for name in ["printer.lan", "vault", "db.corp.example.com"] {
            // Puts the answer into the cache.
            _ = try await resolver.resolve(try Host(name))
            let told = try await Self.told(by: service, name: name, client: client)
            #expect(told.count == 6 && told.allSatisfy { $0.value == isTold }, "\(name): \(told)")
        }
        await resolver.shutDown()
    }

    @Test("HTTP caches keep no answers for private names, which they would give to all clients")
    func caching() async throws {
        let (service, resolver) = try Self.service(.forLoopback)
        let client = try #require(IPAddress("127.0.0.1"))
        for (name, isKept) in [("printer.lan", false), ("www.example.com", true)] {
            let question = DNSQuestion(try #require(DNSName(name)), .a)
            let message = try #require(DNSMessage(questions: [question]).encoded())
            let type = "application/dns-message"
            let requests = [
                ServerRequest(.get, target: "/resolve?name=\(name)", client: client),
                ServerRequest(.get, target: "/d?dn=\(name)", client: client),
                ServerRequest(.post, target: "/dns-query", contentType: type, body: message, client: client),
            ]
            // The second time, the answer is in the cache of the resolver.
            for request in requests + requests {
                #expect((await Self.reply(service, request).maxAge != nil) == isKept, "\(request.path) \(name)")
            }
        }
        await resolver.shutDown()
    }

    @Test("all clients get answers for public names and localhost")
    func publicNames() async throws {
        let (service, resolver) = try Self.service(.forLoopback)
        let client = try #require(IPAddress("192.0.2.7"))
        for (name, address) in [("www.example.com", "198.51.100.1"), ("localhost", "127.0.0.1")] {
            let body = await Self.body(service, ServerRequest(.get, target: "/d?dn=\(name)", client: client))
            #expect(String(decoding: body, as: UTF8.self) == address)
        }
        await resolver.shutDown()
    }

    @Test("all clients get answers from the user's own tables")
    func tables() async throws {
        let table = FixedUpstream(HostsTable(parsing: "\(Self.address) printer.lan"))
        let (service, resolver) = try Self.service(.forNone, tables: [table])
        let told = try await Self.told(by: service, name: "printer.lan", client: "192.0.2.7")
        #expect(told.allSatisfy { $0.value }, "\(told)")
        #expect(try await Self.told(by: service, name: "vault", client: "192.0.2.7").allSatisfy { !$0.value })
        await resolver.shutDown()
    }
}
