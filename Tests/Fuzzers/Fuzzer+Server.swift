// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import NIOCore
import Names

@testable import BeelineServer
@testable import HTTPDNS

extension Fuzzer {
    /// Decoders of queries to the HTTPDNS server and of zone files.
    static let server: [Fuzzer] = [
        Fuzzer(
            "zone-file",
            texts: [
                """
                $ORIGIN corp.test.
                $TTL 60
                @ IN SOA ns hostmaster ( 1 2 3 4 5 )
                www 60 A 192.0.2.1
                    AAAA 2001:db8::1
                * CNAME www
                x HTTPS 1 . alpn="h2,h3" port=1
                x CAA 0 issue "a;\\"\\065"

                """
            ]
        ) { bytes in
            let file = try ZoneFile(parsing: bytes)
            let set = ZoneSet([AuthoritativeZone(file)])
            for record in file.records.prefix(100) { _ = set.lookUp(record.name, record.type) }
        },
        Fuzzer(
            "server-targets",
            texts: [
                "/dns-query?dns=AAABAAABAAAAAAAAA3d3dwRjb3JwBHRlc3QAAAEAAQ", "/resolve?name=www.corp.test&type=28",
                "/d?dn=www.corp.test,a.test&ttl=1&type=addrs&query=1&clientip=1&ip=192.0.2.1",
                "/d?dn=00112233&id=100000&alg=aes", "/100000/sign_d?host=a.test&t=9999999999&s=00&query=4,6",
                "/100000/resolve?host=a.test,b.test", "/v2/d?id=100000&m=2&enc=00ff&exp=9999999999&s=00&v=1.0",
            ]
        ) { bytes in
            let target = String(decoding: bytes, as: UTF8.self)
            let request = ServerRequest(.get, target: target, client: IPAddress(v4: 1))
            if case .reply(let reply) = service.handle(request, now: .now()), !(200...599).contains(reply.status) {
                violation("a reply without a status")
            }
        },
        Fuzzer("server-messages", seeds: names.first { $0.name == "dns-message" }?.seeds ?? []) { bytes in
            var request = ServerRequest(.post, target: "/dns-query", body: bytes, client: IPAddress(v4: 1))
            request.contentType = MessageDialect.mediaType
            guard case .reply(let reply) = service.handle(request, now: .now()),
                reply.contentType == MessageDialect.mediaType
            else { return }
            guard (try? DNSMessage(octets: reply.body)) != nil else { violation("our answer is not read again") }
        },
        Fuzzer("dns-queries", seeds: names.first { $0.name == "dns-message" }?.seeds ?? []) { bytes in
            guard case .reply(let reply) = door.handle(bytes, from: IPAddress(v4: 1), .udp, now: .now()) else { return }
            guard reply.count >= 12, reply[2] & 0x80 != 0 else { violation("a reply that is no response") }
        },
        Fuzzer(
            "proxy-header",
            seeds: [
                Array("PROXY TCP4 192.0.2.7 192.0.2.1 1000 443\r\nGET /".utf8), Array("PROXY UNKNOWN\r\n".utf8),
                [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10, 0x21, 0x11, 0, 15]
                    + [192, 0, 2, 7, 192, 0, 2, 1, 3, 232, 1, 187, 4, 0, 0],
            ]
        ) { bytes in
            guard case .complete(let header, let length) = try ProxyHeader.read(bytes) else { return }
            guard length <= bytes.count, length <= 16 + ProxyHeader.maxPayload,
                try ProxyHeader.read(bytes.prefix(length)) == .complete(header, length: length)
            else { violation("a header that depends on what follows it") }
        },
        Fuzzer("dns-lists", texts: ["0.0.0.0 a.test\naddress=/b.test/#\nserver=/c.test/\n192.0.2.1 d.test e.test"]) {
            bytes in
            var rules = NameRules()
            rules.add(parsing: String(decoding: bytes, as: UTF8.self))
        },
    ]

    private static let door: DNSService = {
        var configuration = DNSServerConfiguration()
        configuration.questionsPerSecond = nil
        guard let files = try? ZoneFiles([]) else { violation("no zone files are an error") }
        let resolver = Resolver(ResolverConfiguration(upstreams: [], system: nil))
        return DNSService(configuration, answerer: Answerer(resolver: resolver, zones: files))
    }()

    private static let service: ServerService = {
        var configuration = ServerConfiguration()
        configuration.questionsPerSecond = nil
        var settings = ResolverConfiguration(
            upstreams: [ScriptedUpstream("away") { _ in .fail(UpstreamError(.unreachable, "is away")) }],
            system: nil
        )
        settings.network.monitor = nil
        guard let files = try? ZoneFiles([]) else { violation("an empty list of zones is refused") }
        return ServerService(configuration, resolver: Resolver(settings), zones: files)
    }()
}
