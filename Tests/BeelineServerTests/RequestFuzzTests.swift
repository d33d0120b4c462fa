// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import HTTPDNS
import NIOCore
import Names
import Testing

@testable import BeelineServer

@Suite("Malformed requests")
struct RequestFuzzTests {
    /// A query for www.corp.test with a client subnet and padding.
    private static let query: [UInt8] =
        [0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 3] + Array("www".utf8) + [4] + Array("corp".utf8) + [4]
        + Array("test".utf8) + [0, 0, 1, 0, 1, 0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 17]
        + [0, 8, 0, 7, 0, 1, 24, 0, 203, 0, 113, 0, 12, 0, 2, 0, 0]

    private static let targets = [
        "/dns-query?dns=AAABAAABAAAAAAAAA3d3dwRjb3JwBHRlc3QAAAEAAQ", "/resolve?name=www.corp.test&type=28",
        "/d?dn=www.corp.test,a.test&ttl=1&type=addrs&query=1&clientip=1&ip=192.0.2.1",
        "/d?dn=00112233&id=100000&alg=aes", "/100000/sign_d?host=a.test&t=9999999999&s=00&query=4,6",
        "/100000/resolve?host=a.test,b.test", "/v2/d?id=100000&m=2&enc=00ff&exp=9999999999&s=00&v=1.0", "/health",
    ]

    @Test("no request makes the server trap, and each request gets a status")
    func requests() async throws {
        let rounds = FuzzRounds.count(ordinary: 4_000)
        var configuration = ServerConfiguration()
        configuration.questionsPerSecond = nil
        configuration.accounts = [
            try ServerAccount(id: "100000", secret: DialectTests.secret, encryptionKey: DialectTests.key)
        ]
        var settings = ResolverConfiguration(
            upstreams: [ScriptedUpstream("away") { _ in .fail(UpstreamError(.unreachable, "is away")) }],
            system: nil
        )
        settings.network.monitor = nil
        let resolver = Resolver(settings)
        let service = ServerService(configuration, resolver: resolver, zones: try ZoneFiles([]))
        var random = SeededRandom(seed: 8_484)
        func next(_ limit: Int) -> Int { Int(random.next() % UInt64(max(1, limit))) }
        let signs = Array("&=%,;/?+-_.:0fA".utf8)
        for round in 0..<rounds {
            var request: ServerRequest
            if round.isMultiple(of: 2) {
                var octets = Self.query
                for _ in 0...next(4) { octets[next(octets.count)] = UInt8(next(256)) }
                if next(4) == 0 { octets.removeLast(next(octets.count)) }
                request = ServerRequest(.post, target: "/dns-query", body: octets, client: IPAddress(v4: 1))
                request.contentType = MessageDialect.mediaType
            } else {
                var octets = Array(Self.targets[next(Self.targets.count)].utf8)
                for _ in 0...next(4) { octets[next(octets.count)] = signs[next(signs.count)] }
                let target = String(decoding: octets, as: UTF8.self)
                request = ServerRequest(.get, target: target, client: IPAddress(v4: 1))
            }
            let reply: ServerReply
            switch service.handle(request, now: .now()) {
            case .reply(let now): reply = now
            case .later(_, let wait):
                // Only a few requests go on to the resolver, which has its own tests.
                guard next(20) == 0 else { continue }
                reply = await wait()
            }
            #expect((200...599).contains(reply.status))
            if reply.contentType == MessageDialect.mediaType {
                #expect(throws: Never.self) { try DNSMessage(octets: reply.body) }
            }
        }
        await resolver.shutDown()
    }
}
