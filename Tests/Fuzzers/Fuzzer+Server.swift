// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import NIOCore
import NIOEmbedded
import Names

@testable import BeelineServer
@testable import HTTPDNS

extension Fuzzer {
    /// Decoders of queries to the servers, of the replies that they forward, and of zone files.
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
        Fuzzer("dns-streams", seeds: [framed(query), framed(query) + framed(query), framed(query) + framed([1, 2])]) {
            bytes in
            let (whole, pieces) = (try replies(to: bytes, piece: .max), try replies(to: bytes, piece: 3))
            if whole.isOpen != pieces.isOpen || whole.replies != pieces.replies {
                violation("pieces change a connection")
            }
        },
        Fuzzer("forwarded-answers", seeds: names.first { $0.name == "dns-message" }?.seeds ?? []) { bytes in
            let message = try DNSMessage(reply: bytes)
            guard let question = message.questions.first else { return }
            let query = MessageQuery(question)
            let answer = forwarder.usable(try query.checked(message), query, isTrusted: false)
            guard let answer, !answer.isFailure, let body = ReplyBody(answer, question: question) else { return }
            let maxTTL = UInt32(clamping: forwarder.cache.ttlRange.upperBound.components.seconds)
            guard !answer.isVerified, answer.answers.allSatisfy({ $0.ttl <= maxTTL }) else {
                violation("an answer beyond its bounds")
            }
            let head = try QueryHead(DNSMessage.query(question))
            let reply = body.reply(to: head, ReplyBody.Form(maxSize: DNSMessage.maxOctets))
            guard (try? DNSMessage(octets: reply)) != nil else { violation("our answer is not read again") }
        },
        Fuzzer(
            "proxy-header",
            seeds: [
                Array("PROXY TCP4 192.0.2.7 192.0.2.1 1000 443\r\nGET /".utf8), Array("PROXY UNKNOWN\r\n".utf8),
                [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10, 0x21, 0x11, 0, 15]
                    + [192, 0, 2, 7, 192, 0, 2, 1, 3, 232, 1, 187, 4, 0, 0],
            ]
        ) { bytes in
            guard let (header, length) = try ProxyHeader.read(bytes) else { return }
            guard length <= bytes.count, length <= 16 + ProxyHeader.maxPayload,
                let again = try ProxyHeader.read(bytes.prefix(length)), again.header == header, again.length == length
            else { violation("a header that depends on what follows it") }
        },
        Fuzzer("dns-lists", texts: ["0.0.0.0 a.test\naddress=/b.test/#\nserver=/c.test/\n192.0.2.1 d.test e.test"]) {
            bytes in
            var rules = NameRules()
            rules.add(parsing: String(decoding: bytes, as: UTF8.self))
        },
    ]

    private static let door = makeDoor()
    /// Replies at once: no question may wait for an upstream.
    private static let busyDoor = makeDoor(maxWaiting: 0)

    private static func makeDoor(maxWaiting: Int? = nil) -> DNSService {
        var configuration = DNSServerConfiguration()
        configuration.questionsPerSecond = nil
        if let maxWaiting { configuration.maxPendingQuestions = maxWaiting }
        guard let files = try? ZoneFiles([]) else { violation("no zone files are an error") }
        let resolver = Resolver(ResolverConfiguration(upstreams: [], system: nil))
        return DNSService(configuration, answerer: Answerer(backend: NameBackend(resolver), zones: files))
    }

    private static let forwarder = MessageForwarder(ResolverConfiguration(upstreams: [], system: nil))

    private static let query: [UInt8] = [0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 97, 0, 0, 1, 0, 1]

    /// A message over TCP (RFC 1035 §4.2.2).
    private static func framed(_ message: [UInt8]) -> [UInt8] {
        [UInt8(message.count >> 8), UInt8(message.count & 255)] + message
    }

    /// The replies to a stream that arrives in pieces, and whether the connection is still open.
    private static func replies(to bytes: [UInt8], piece: Int) throws -> (replies: [[UInt8]], isOpen: Bool) {
        let channel = EmbeddedChannel()
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        let handler = StreamHandler(busyDoor, client: IPAddress(v4: 1), .tcp)
        try channel.pipeline.syncOperations.addHandler(handler)
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        var rest = bytes[...]
        while !rest.isEmpty, channel.isActive {
            try channel.writeInbound(ByteBuffer(bytes: rest.prefix(piece)))
            rest = rest.dropFirst(piece)
        }
        var replies: [[UInt8]] = []
        while let frame = try channel.readOutbound(as: ByteBuffer.self) {
            let octets = Array(frame.readableBytesView)
            guard octets.count >= 14, octets == framed(Array(octets.dropFirst(2))), octets[4] & 0x80 != 0 else {
                violation("a reply that is no response, or has another length")
            }
            replies.append(octets)
        }
        return (replies, channel.isActive)
    }

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
