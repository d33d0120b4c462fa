// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import Foundation
import HTTPDNS
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Names
import Testing

@testable import BeelineServer

@Suite("Clients with many questions at once", .timeLimit(.minutes(1)))
struct OverloadTests {
    private static let health = HTTPRequestHead(
        version: .http1_1,
        method: .GET,
        uri: "/health",
        headers: ["Host": "a.test"]
    )

    private static let client = IPAddress(v4: 0x7f00_0001)

    private static func resolver(_ upstream: ScriptedUpstream) -> Resolver {
        var settings = ResolverConfiguration(upstreams: [upstream], system: nil)
        settings.network.monitor = nil
        return Resolver(settings)
    }

    @Test(
        "the names of a batch are looked up concurrently and answered in their order",
        arguments: ["dnspod", "aliyun", "aliyun2"]
    )
    func batches(_ form: String) async throws {
        let gate = Gate()
        let upstream = ScriptedUpstream("script") { question in
            let last = UInt32(question.host.text.utf8.first ?? 0)
            return .hold(gate, Answer(v4: .addresses([IPAddress(v4: 0xc633_6400 + last)], ttl: .seconds(60))))
        }
        let resolver = Self.resolver(upstream)
        var configuration = ServerConfiguration()
        configuration.passesSubnets = false
        let answerer = Answerer(backend: NameBackend(resolver), zones: try ZoneFiles([]))
        let router = Router(configuration, answerer: answerer, clock: { 0 })
        let names = ["e.test", "d.test", "c.test", "b.test", "a.test"]
        let list = names.joined(separator: ",")
        let aliyun = AliyunDialect(router: router)
        let handling =
            switch form {
            case "dnspod":
                DNSPodDialect(router: router).handle(ServerRequest(.get, target: "/d?dn=\(list)", client: Self.client))
            case "aliyun":
                aliyun.handle(
                    ServerRequest(.get, target: "/1/resolve?host=\(list)", client: Self.client),
                    account: "1",
                    call: "resolve"
                )
            default:
                aliyun.handleVersion2(ServerRequest(.get, target: "/v2/d?dn=\(list)&q=4", client: Self.client))
            }
        guard case .later(let lookups, let wait) = handling else {
            Issue.record("the question was not accepted")
            return
        }
        #expect(lookups == names.count)
        async let reply = wait()
        try await gate.arrivals(atLeast: names.count)
        gate.open()
        let text = String(decoding: await reply.body, as: UTF8.self)
        let places = names.compactMap { text.firstRange(of: $0)?.lowerBound }
        #expect(places.count == names.count && places == places.sorted(), "\(text)")
        await resolver.shutDown()
    }

    @Test("one client cannot use all lookups of the server")
    func lookUpsOfAClient() async throws {
        let resolver = Self.resolver(ScriptedUpstream("script"))
        let service = ServerService(ServerConfiguration(), resolver: resolver, zones: try ZoneFiles([]))
        let taken = (0..<1_024).count { _ in service.admitLookups(of: Self.client) }
        #expect(taken == 256)
        #expect(service.admitLookups(of: IPAddress(v4: 0x7f00_0002)))
        service.finishLookups(of: Self.client)
        #expect(service.admitLookups(of: Self.client) && !service.admitLookups(of: Self.client))
        // A question for several names and families counts as several lookups.
        let other = IPAddress(v4: 0x7f00_0003)
        let batches = (0..<100).count { _ in service.admitLookups(of: other, count: 16) }
        #expect(batches == 16 && !service.admitLookups(of: other))
        service.finishLookups(of: other, count: 16)
        #expect(service.admitLookups(of: other, count: 16) && !service.admitLookups(of: other))
        await resolver.shutDown()
    }

    @Test("a client gets the metrics 50 times at once and then 10 times a second, and probes of health are not limited")
    func metricsOfAClient() async throws {
        let resolver = Self.resolver(ScriptedUpstream("script"))
        let service = ServerService(ServerConfiguration(), resolver: resolver, zones: try ZoneFiles([]))
        let now = NIODeadline.now()
        func statuses(_ path: String, _ client: IPAddress = Self.client, at time: NIODeadline) -> [Int] {
            (0..<100).compactMap { _ -> Int? in
                let handling = service.handle(ServerRequest(.get, target: path, client: client), now: time)
                if case .reply(let reply) = handling { return reply.status } else { return nil }
            }
        }
        #expect(statuses("/metrics", at: now).count { $0 == 200 } == 50)
        #expect(statuses("/metrics", at: now + .seconds(1)).count { $0 == 429 } == 90)
        #expect(statuses("/health", at: now) == Array(repeating: 200, count: 100))
        #expect(statuses("/metrics", IPAddress(v4: 0x7f00_0002), at: now).first == 200)
        await resolver.shutDown()
    }

    @Test(
        "a cached name is answered at once, also to a client that has too many pending lookups",
        arguments: ["/d?dn=", "/1/d?host=", "/v2/d?dn=", "/resolve?name="]
    )
    func cachedNames(_ target: String) async throws {
        let answer = Answer(v4: .addresses([IPAddress(v4: 0xc633_6401)], ttl: .seconds(60)))
        let resolver = Self.resolver(ScriptedUpstream("script") { _ in .answer(answer) })
        let service = ServerService(ServerConfiguration(), resolver: resolver, zones: try ZoneFiles([]))
        _ = try await resolver.resolve(Host("a.test"), families: .v4)
        while service.admitLookups(of: Self.client) {}
        let request = ServerRequest(.get, target: target + "a.test", client: Self.client)
        guard case .reply(let reply) = service.handle(request, now: .now()) else {
            Issue.record("the question waits")
            return
        }
        #expect(reply.status == 200 && String(decoding: reply.body, as: UTF8.self).contains("198.51.100.1"))
        await resolver.shutDown()
    }

    @Test("a question for many names takes one token for each, and may leave the bucket in debt")
    func batchesInBucket() {
        var limiter = RateLimiter(perSecond: 1, burst: 4, maxClients: 10)
        var allowed = [limiter.allows(Self.client, now: 0)]
        limiter.take(15, of: Self.client, now: 0)
        allowed.append(limiter.allows(Self.client, now: 12_000_000_000))
        allowed.append(limiter.allows(Self.client, now: 13_000_000_000))
        allowed.append(limiter.allows(IPAddress(v4: 0x7f00_0002), now: 0))
        #expect(allowed == [true, false, true, true])
    }

    /// Holds all writes, like a socket whose peer does not read.
    private final class FullSocket: ChannelOutboundHandler {
        typealias OutboundIn = HTTPServerResponsePart

        var ends = 0
        var promises: [EventLoopPromise<Void>] = []

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            if case .end = unwrapOutboundIn(data) { ends += 1 }
            if let promise { promises.append(promise) }
        }

        func flush(context: ChannelHandlerContext) {}

        func leave() {
            let leaving = promises
            promises = []
            for promise in leaving { promise.succeed() }
        }
    }

    @Test("the next request of a connection waits until the reply before it is sent", arguments: [true, false])
    func pipelining(_ isWritable: Bool) throws {
        let resolver = Self.resolver(ScriptedUpstream("script"))
        let service = ServerService(ServerConfiguration(), resolver: resolver, zones: try ZoneFiles([]))
        let (channel, socket) = (EmbeddedChannel(), FullSocket())
        try channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        let timer = ConnectionTimer(channel, ServerConfiguration())
        let ends = ConnectionEnds(peer: Self.client, trusting: [])
        try channel.pipeline.syncOperations.addHandlers([
            socket, RequestHandler(service, ends: ends, timer: timer, isOverTLS: true),
        ])
        channel.isWritable = isWritable
        try channel.writeInbound(HTTPServerRequestPart.head(Self.health))
        try channel.writeInbound(HTTPServerRequestPart.end(nil))
        // The end of a reply lets the next request in.
        #expect(socket.ends == (isWritable ? 1 : 0))
        socket.leave()
        #expect(socket.ends == 1)
        socket.leave()
        timer.end()
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    /// Measures how deeply reads are nested.
    private final class NestingProbe: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart

        var deepest = 0
        private var depth = 0

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            depth += 1
            deepest = max(deepest, depth)
            context.fireChannelRead(data)
            depth -= 1
        }
    }

    /// A connection whose peer does not read, with NIO's handler for pipelined requests.
    private struct Pipeline {
        let channel = EmbeddedChannel()
        let socket = FullSocket()
        let probe = NestingProbe()
        let handler: RequestHandler
        private let timer: ConnectionTimer

        init(_ resolver: Resolver) throws {
            let service = ServerService(ServerConfiguration(), resolver: resolver, zones: try ZoneFiles([]))
            try channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            timer = ConnectionTimer(channel, ServerConfiguration())
            handler = RequestHandler(
                service,
                ends: ConnectionEnds(peer: OverloadTests.client, trusting: []),
                timer: timer,
                isOverTLS: true
            )
            try channel.pipeline.syncOperations.addHandlers([socket, HTTPServerPipelineHandler(), probe, handler])
            channel.isWritable = false
        }

        func ask(ends: Bool = true) throws {
            try channel.writeInbound(HTTPServerRequestPart.head(OverloadTests.health))
            if ends { try channel.writeInbound(HTTPServerRequestPart.end(nil)) }
        }

        func end() {
            while !socket.promises.isEmpty { socket.leave() }
            timer.end()
            _ = try? channel.finish(acceptAlreadyClosed: true)
        }
    }

    @Test("many requests pipelined behind a slow one are answered without nested reads")
    func nesting() throws {
        let pipeline = try Pipeline(Self.resolver(ScriptedUpstream("script")))
        for _ in 0...50 { try pipeline.ask() }
        #expect(pipeline.socket.ends == 0)
        // The first reply leaves, and all others are ready at once.
        pipeline.channel.isWritable = true
        pipeline.socket.leave()
        #expect(pipeline.socket.ends == 51 && pipeline.probe.deepest == 1)
        pipeline.end()
    }

    @Test("a partial pipelined request gets the time limit of a request, not that of an idle connection")
    func halfARequest() throws {
        let pipeline = try Pipeline(Self.resolver(ScriptedUpstream("script")))
        try pipeline.ask()
        try pipeline.ask(ends: false)
        pipeline.channel.isWritable = true
        for _ in 0..<2 { pipeline.socket.leave() }
        #expect(pipeline.socket.ends == 1)
        pipeline.channel.embeddedEventLoop.advanceTime(by: .seconds(9))
        #expect(pipeline.channel.isActive)
        pipeline.channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!pipeline.channel.isActive)
        pipeline.end()
    }

    @Test(
        "a stopping server closes idle connections at once, and others when their replies have left",
        arguments: [true, false]
    )
    func finishing(_ isAsked: Bool) throws {
        let pipeline = try Pipeline(Self.resolver(ScriptedUpstream("script")))
        if isAsked { try pipeline.ask() }
        pipeline.handler.finish(pipeline.channel)
        #expect(pipeline.channel.isActive == isAsked)
        pipeline.socket.leave()
        #expect(pipeline.channel.isActive == isAsked)
        pipeline.socket.leave()
        #expect(!pipeline.channel.isActive)
        pipeline.end()
    }

    @Test("the table of clients is rarely searched for idle clients, even when few are idle")
    func makingRoom() {
        var limiter = RateLimiter(perSecond: 1, burst: 100, maxClients: 100)
        // One client has a full bucket again, and the others have used most of theirs.
        _ = limiter.allows(IPAddress(v4: 0), now: 0)
        let later: Int64 = 10_000_000_000
        for index in 1..<100 {
            for _ in 0..<20 { _ = limiter.allows(IPAddress(v4: UInt32(index)), now: later) }
        }
        _ = limiter.allows(IPAddress(v4: 1_000), now: later)
        #expect(limiter.count <= 76)
    }

    @Test("a zone file that is a pipe is refused without waiting")
    func pipeAsZone() throws {
        let path = NSTemporaryDirectory() + "/beeline-zone-\(UUID().uuidString)"
        try #require(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        #expect(throws: ServerError.self) { try ZoneFiles([path]) }
    }
}
