// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import HTTPDNS
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import Names
import Testing

import class NIOPosix.ClientBootstrap
import class NIOPosix.MultiThreadedEventLoopGroup

@testable import BeelineServer

@Suite("Sockets of the DNS server", .timeLimit(.minutes(1)))
struct DNSSocketTests {
    private static let rule = "192.0.2.7 printer.lan"

    private static func server(on address: IPAddress) async throws -> (DNSServer, Resolver, Endpoint) {
        var configuration = DNSServerConfiguration()
        configuration.listen = [Endpoint(address, port: 0)]
        let double = MessageDouble { MessageDouble.text($0) }
        let resolver = Resolver(ResolverConfiguration(upstreams: [double], system: nil))
        let server = try DNSServer(configuration, resolver: resolver)
        return (server, resolver, try await server.start().plain[0])
    }

    private static func ask(_ port: UInt16) async throws -> Int {
        let client = try DNSUpstream(at: [Endpoint(DNSLab.loopback, port: port)])
        let name = try #require(DNSName("a.example"))
        return try await client.response(to: MessageQuery(DNSQuestion(name, DNSLab.text))).answers.count
    }

    @Test("a server on all addresses has a socket for each, so that replies come from the address that was asked")
    func addressOfReplies() async throws {
        let (server, resolver, endpoint) = try await Self.server(on: IPAddress(v4: 0))
        let channels = server.listeners.datagrams[0].channels
        let addresses = channels.compactMap { $0.localAddress.flatMap { Endpoint($0)?.address } }
        #expect(addresses.contains(DNSLab.loopback) && !addresses.contains { $0.isUnspecified })
        #expect(try await Self.ask(endpoint.port) == 1)
        await server.stop()
        #expect(server.listeners.datagrams[0].channels.isEmpty)
        await resolver.shutDown()
    }

    @Test("a server listens on several endpoints, and each keeps its sockets")
    func severalEndpoints() async throws {
        var configuration = DNSServerConfiguration()
        configuration.listen = [Endpoint(DNSLab.loopback, port: 0), Endpoint(DNSLab.loopback, port: 0)]
        let double = MessageDouble { MessageDouble.text($0) }
        let resolver = Resolver(ResolverConfiguration(upstreams: [double], system: nil))
        let server = try DNSServer(configuration, resolver: resolver)
        let endpoints = try await server.start().plain
        #expect(Set(endpoints).count == 2)
        for endpoint in endpoints { #expect(try await Self.ask(endpoint.port) == 1) }
        let next = try DNSServer(configuration, resolver: resolver)
        // A server that cannot have all of its endpoints keeps none.
        configuration.listen = [Endpoint(DNSLab.loopback, port: 0), endpoints[1]]
        let last = try DNSServer(configuration, resolver: resolver)
        let error = await #expect(throws: ServerError.self) { try await last.start() }
        #expect(error?.message.contains("\(endpoints[1])") == true)
        #expect(last.listeners.datagrams.allSatisfy { $0.channels.isEmpty } && !last.listeners.isListening)
        configuration.listen = []
        #expect(throws: ServerError.self) { try DNSServer(configuration, resolver: resolver) }
        await next.stop()
        await server.stop()
        await resolver.shutDown()
    }

    @Test("a server limited to IPv4 and without HTTPS records denies the other records, except the addresses of tables")
    func recordsThatAreTurnedOff() async throws {
        let double = MessageDouble { query in
            MessageDouble.reply(query, [DNSRecord(query.question.name, ttl: 60, .address(IPAddress(v4: 0xc000_0201)))])
        }
        let table = FixedUpstream(HostsTable(parsing: "2001:db8::9 t.example"))
        var settings = ResolverConfiguration(upstreams: [table, double], system: nil)
        (settings.families, settings.usesHTTPSRecords) = (.v4, false)
        let resolver = Resolver(settings)
        var configuration = DNSServerConfiguration()
        configuration.listen = [Endpoint(DNSLab.loopback, port: 0)]
        let server = try DNSServer(configuration, resolver: resolver)
        let client = try DNSUpstream(at: [try await server.start().plain[0]])
        let name = try #require(DNSName("a.example"))
        for type in [DNSType.aaaa, .https] {
            let reply = try await client.response(to: MessageQuery(DNSQuestion(name, type)))
            #expect(reply.flags.responseCode == .noError && reply.answers.isEmpty && reply.authorities.count == 1)
        }
        let entry = try #require(DNSName("t.example"))
        let six = try await client.response(to: MessageQuery(DNSQuestion(entry, .aaaa)))
        #expect(ServerAnswer(six).addresses.map(\.description) == ["2001:db8::9"])
        #expect(double.questions.isEmpty)
        let reply = try await client.response(to: MessageQuery(DNSQuestion(name, .a)))
        #expect(ServerAnswer(reply).addresses == [IPAddress(v4: 0xc000_0201)])
        await server.stop()
        await resolver.shutDown()
    }

    @Test("a connection is not idle while a question of it waits for an upstream")
    func waitingConnection() async throws {
        let gate = Gate()
        let found = Answer(v4: .addresses([IPAddress(v4: 0xc000_0201)], ttl: .seconds(60)), v6: nil)
        let resolver = Resolver(
            ResolverConfiguration(upstreams: [ScriptedUpstream("slow", .hold(gate, found))], system: nil)
        )
        var configuration = DNSServerConfiguration()
        configuration.listen = [Endpoint(DNSLab.loopback, port: 0)]
        // It limits the time until the first question too.
        configuration.idleTimeout = .seconds(1)
        let server = try DNSServer(configuration, resolver: resolver)
        let endpoint = try await server.start().plain[0]
        let connection = try await RawConnection.connect(to: endpoint)
        let query = DNSLab.query("a.test", .a)
        try await connection.send([0, UInt8(query.count)] + query)
        try await gate.arrivals(atLeast: 1)
        // The idle time of a connection that was opened later passes first.
        let idle = try await RawConnection.connect(to: endpoint)
        #expect(try await idle.drain() == 0)
        gate.open()
        #expect(try await connection.receive(count: 4)[2...] == [0x12, 0x34])
        // Without a question, the connection is idle again.
        #expect(try await connection.drain() > 0)
        await server.stop()
        await resolver.shutDown()
    }

    @Test("a client that ends its sending side gets the replies to its questions, and then the end of the connection")
    func halfClose() async throws {
        let gate = Gate()
        let found = Answer(v4: .addresses([IPAddress(v4: 0xc000_0201)], ttl: .seconds(60)), v6: nil)
        let resolver = Resolver(
            ResolverConfiguration(upstreams: [ScriptedUpstream("slow", .hold(gate, found))], system: nil)
        )
        var configuration = DNSServerConfiguration()
        configuration.listen = [Endpoint(DNSLab.loopback, port: 0)]
        configuration.idleTimeout = .seconds(3_600)
        let server = try DNSServer(configuration, resolver: resolver)
        let endpoint = try await server.start().plain[0]
        let connection = try await RawConnection.connect(to: endpoint)
        let query = DNSLab.query("a.test", .a)
        try await connection.send([0, UInt8(query.count)] + query)
        try await connection.finishSending()
        try await gate.arrivals(atLeast: 1)
        gate.open()
        let length = try await connection.receive(count: 2)
        let reply = try DNSMessage(octets: try await connection.receive(count: Int(length[0]) << 8 | Int(length[1])))
        #expect(reply.answers.count == 1)
        #expect(try await connection.drain() == 0)
        // A client without a question is closed at once.
        let empty = try await RawConnection.connect(to: endpoint)
        try await empty.finishSending()
        #expect(try await empty.drain() == 0)
        await server.stop()
        await resolver.shutDown()
    }

    /// An upstream whose answers have 60,000 octets, and wait for a gate.
    final class LargeUpstream: MessageUpstream {
        let name = "large"
        let answersOneFamily = true
        let isAuthenticated = true
        private let gate: Gate

        init(_ gate: Gate) { self.gate = gate }

        func response(to query: MessageQuery) async throws(UpstreamError) -> DNSMessage {
            do {
                try await gate.wait()
            } catch {
                throw UpstreamError(.cancelled, "cancelled")
            }
            let content = DNSRecord.Content.other(DNSLab.text, [UInt8](repeating: 0, count: 60_000))
            return MessageDouble.reply(query, [DNSRecord(query.question.name, ttl: 60, content)])
        }

        func answer(_ question: HTTPDNS.Question) async throws(UpstreamError) -> Answer { Answer() }
    }

    @Test("a client that does not read its replies is disconnected before they fill the memory")
    func unreadReplies() async throws {
        let (gate, count) = (Gate(), 256)
        let answered = NIOLockedValueBox(0)
        var settings = ResolverConfiguration(upstreams: [LargeUpstream(gate)], system: nil)
        (settings.limits.upstream, settings.limits.total) = (.seconds(60), .seconds(60))
        let resolver = Resolver(settings)
        var configuration = DNSServerConfiguration()
        configuration.listen = [Endpoint(DNSLab.loopback, port: 0)]
        (configuration.questionsPerConnection, configuration.idleTimeout) = (count, .seconds(3_600))
        configuration.accessLog = { _ in answered.withLockedValue { $0 += 1 } }
        let server = try DNSServer(configuration, resolver: resolver)
        let endpoint = try await server.start().plain[0]
        let client = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false)
            .connect(host: endpoint.address.description, port: Int(endpoint.port))
            .get()
        var octets: [UInt8] = []
        for number in 0..<count {
            let query = DNSLab.query("n\(number).example", DNSLab.text)
            octets += [0, UInt8(query.count)] + query
        }
        try await client.writeAndFlush(ByteBuffer(bytes: octets))
        try await gate.arrivals(atLeast: count)
        gate.open()
        try await eventually("all answers") { answered.withLockedValue { $0 } == count }
        // Reading shows the end of the connection.
        try await client.setOption(.autoRead, value: true).get()
        try await withTimeLimit(.seconds(20), for: { "the end" }) { try await client.closeFuture.get() }
        await server.stop()
        await resolver.shutDown()
    }

    @Test("all clients together have a limit of TCP connections, the others are closed, and a place becomes free")
    func connectionsOfAll() async throws {
        var configuration = DNSServerConfiguration()
        configuration.listen = [Endpoint(DNSLab.loopback, port: 0)]
        configuration.maxConnections = 2
        let double = MessageDouble { MessageDouble.text($0) }
        let resolver = Resolver(ResolverConfiguration(upstreams: [double], system: nil))
        let server = try DNSServer(configuration, resolver: resolver)
        let endpoint = try await server.start().plain[0]
        let query = DNSLab.query("a.example", DNSLab.text)
        let message: [UInt8] = [0, UInt8(query.count)] + query
        @Sendable func isServed(_ connection: RawConnection) async -> Bool {
            try? await connection.send(message)
            return (try? await connection.receive(count: 2)) != nil
        }
        var connections: [RawConnection] = []
        for number in 0..<5 {
            let connection = try await RawConnection.connect(to: endpoint)
            #expect(await isServed(connection) == (number < 2))
            connections.append(connection)
        }
        await connections[0].close()
        try await eventually("a free place", every: .milliseconds(10)) {
            let connection = try await RawConnection.connect(to: endpoint)
            let hasReply = try await withTimeLimit(.seconds(20), for: { "a reply or the end" }) {
                await isServed(connection)
            }
            await connection.close()
            return hasReply
        }
        // UDP has no connections.
        #expect(try await Self.ask(endpoint.port) == 1)
        for connection in connections { await connection.close() }
        await server.stop()
        await resolver.shutDown()
    }

    @Test("new addresses get sockets, lost ones lose theirs, and the other family has none on 0.0.0.0")
    func plans() throws {
        func address(_ text: String, _ port: Int = 53) throws -> SocketAddress {
            try SocketAddress(ipAddress: text, port: port)
        }
        let (one, two, six) = (try address("127.0.0.1"), try address("192.0.2.1"), try address("::1"))
        let interfaces = [try address("127.0.0.1", 0), try address("192.0.2.1", 0), try address("::1", 0)]
        let (all, both) = (try address("0.0.0.0"), try address("::"))
        #expect(DatagramPlan.addresses(listening: all, interfaces: interfaces) == [one, two])
        #expect(DatagramPlan.addresses(listening: both, interfaces: interfaces) == [one, two, six])
        #expect(DatagramPlan.addresses(listening: two, interfaces: interfaces) == [two])
        #expect(DatagramPlan.addresses(listening: all, interfaces: []) == [all])
        let plan = DatagramPlan([one, two], open: [one: 1, six: 2], count: 2)
        #expect(plan.missing == [one, two, two] && plan.unneeded == [six])
    }

    @Test("on a machine with more than 64 addresses, it is reported that UDP does not listen on all")
    func manyAddresses() async throws {
        let told = NIOLockedValueBox<[String]>([])
        let lab = try DNSLab([MessageDouble { _ in nil }]) {
            $0.onReloadFailure = { error in told.withLockedValue { $0.append(error.message) } }
        }
        let addresses = try (1...65).map { try SocketAddress(ipAddress: "127.0.0.\($0)", port: 0) }
        let sockets = DatagramSockets(lab.service) { addresses }
        try await sockets.start(on: SocketAddress(ipAddress: "0.0.0.0", port: 0))
        #expect(told.withLockedValue { $0.count { $0.contains("64 of 65 addresses") } } == 1)
        await sockets.close()
        await lab.resolver.shutDown()
    }

    @Test("an address that cannot be bound is reported after two checks, with the system's reason in plain words")
    func unboundAddress() async throws {
        let told = NIOLockedValueBox<[String]>([])
        let lab = try DNSLab([MessageDouble { _ in nil }]) {
            $0.onReloadFailure = { error in told.withLockedValue { $0.append(error.message) } }
        }
        // No machine has 192.0.2.1 (RFC 5737).
        let addresses = try ["127.0.0.1", "192.0.2.1"].map { try SocketAddress(ipAddress: $0, port: 0) }
        let sockets = DatagramSockets(lab.service) { addresses }
        try await sockets.start(on: SocketAddress(ipAddress: "0.0.0.0", port: 0))
        try await eventually("the report") { told.withLockedValue { !$0.isEmpty } }
        let message = try #require(told.withLockedValue { $0.first })
        #expect(message.hasPrefix("UDP: cannot listen on 192.0.2.1: "), "\(message)")
        #expect(message.hasSuffix("; no interface of this machine has the address now"), "\(message)")
        await sockets.close()
        await lab.resolver.shutDown()
    }

    @Test("a socket that a failed send has closed is bound again")
    func failedSend() async throws {
        let (server, resolver, endpoint) = try await Self.server(on: DNSLab.loopback)
        let channels = server.listeners.datagrams[0].channels
        // No datagram can be sent to port 0.
        let nowhere = try SocketAddress(ipAddress: "127.0.0.1", port: 0)
        for channel in channels {
            let envelope = AddressedEnvelope(remoteAddress: nowhere, data: ByteBuffer(bytes: [0]))
            try? await channel.writeAndFlush(envelope).get()
            try await channel.closeFuture.get()
        }
        try await eventually("the new sockets") { server.listeners.datagrams[0].channels.count >= channels.count }
        let new = server.listeners.datagrams[0].channels
        #expect(new.allSatisfy { channel in !channels.contains { $0 === channel } })
        #expect(try await Self.ask(endpoint.port) == 1)
        await server.stop()
        await resolver.shutDown()
    }

    @Test("replies that the socket cannot take are dropped and counted")
    func fullSocket() throws {
        let lab = try DNSLab([MessageDouble { _ in nil }], rules: Self.rule)
        let channel = EmbeddedChannel(handler: DatagramHandler(lab.service))
        let peer = try SocketAddress(ipAddress: "127.0.0.1", port: 1_000)
        try channel.connect(to: peer).wait()
        let query = AddressedEnvelope(
            remoteAddress: peer,
            data: ByteBuffer(bytes: DNSLab.query("printer.lan", .a))
        )
        channel.isWritable = false
        for _ in 0..<3 { try channel.writeInbound(query) }
        #expect(try channel.readOutbound(as: AddressedEnvelope<ByteBuffer>.self) == nil)
        #expect(lab.service.counters.dropped == 3)
        channel.isWritable = true
        try channel.writeInbound(query)
        #expect(try channel.readOutbound(as: AddressedEnvelope<ByteBuffer>.self) != nil)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a connection that ends keeps no further questions")
    func readingWhileEnding() throws {
        let lab = try DNSLab([MessageDouble { _ in nil }])
        let handler = StreamHandler(lab.service, client: DNSLab.loopback, .tcp)
        let socket = SlowClose()
        let channel = EmbeddedChannel(handlers: [socket, handler])
        handler.finish(channel)
        for _ in 0..<100 { try channel.writeInbound(ByteBuffer(repeating: 0, count: 1_000)) }
        #expect(handler.received.readableBytes == 0)
        socket.isHeld = false
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a connection that ends closes when the socket has taken its replies")
    func repliesWhileEnding() throws {
        let lab = try DNSLab([MessageDouble { _ in nil }], rules: Self.rule)
        let handler = StreamHandler(lab.service, client: DNSLab.loopback, .tcp)
        let socket = FullSocket()
        let channel = EmbeddedChannel(handlers: [socket, handler])
        try channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1_000)).wait()
        let query = DNSLab.query("printer.lan", .a)
        try channel.writeInbound(ByteBuffer(bytes: [0, UInt8(query.count)] + query))
        handler.finish(channel)
        #expect(channel.isActive)
        socket.isFull = false
        channel.flush()
        let reply = try channel.readOutbound(as: ByteBuffer.self)
        #expect(reply != nil && !channel.isActive)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a message that gets no reply ends the connection after the replies to those before it")
    func repliesBeforeSilence() throws {
        let lab = try DNSLab([MessageDouble { _ in nil }], rules: Self.rule)
        let channel = EmbeddedChannel(handlers: [StreamHandler(lab.service, client: DNSLab.loopback, .tcp)])
        try channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1_000)).wait()
        let query = DNSLab.query("printer.lan", .a)
        try channel.writeInbound(ByteBuffer(bytes: [0, UInt8(query.count)] + query + [0, 2, 1, 2]))
        let reply = try channel.readOutbound(as: ByteBuffer.self)
        #expect(reply != nil && !channel.isActive)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    /// A socket that takes no bytes while it is full.
    private final class FullSocket: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        var isFull = true

        func flush(context: ChannelHandlerContext) {
            if !isFull { context.flush() }
        }
    }

    /// A socket that stays open although it was closed, as one that still has replies to send.
    private final class SlowClose: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        var isHeld = true

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            if !isHeld { context.close(mode: mode, promise: promise) }
        }
    }

    /// A socket that takes one reply, and further ones after a flush.
    private final class NarrowSocket: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            (context.channel as? EmbeddedChannel)?.isWritable = false
            context.write(data, promise: promise)
        }

        func flush(context: ChannelHandlerContext) {
            context.flush()
            (context.channel as? EmbeddedChannel)?.isWritable = true
            context.fireChannelWritabilityChanged()
        }
    }

    @Test("questions that were received while the socket was full are answered when a flush made room")
    func pipelined() throws {
        let lab = try DNSLab([MessageDouble { _ in nil }], rules: Self.rule)
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers([
            NarrowSocket(), StreamHandler(lab.service, client: DNSLab.loopback, .tcp),
        ])
        try channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1_000)).wait()
        let query = DNSLab.query("printer.lan", .a)
        var buffer = ByteBuffer()
        for _ in 0..<50 {
            buffer.writeInteger(UInt16(query.count))
            buffer.writeBytes(query)
        }
        try channel.writeInbound(buffer)
        var replies = 0
        while try channel.readOutbound(as: ByteBuffer.self) != nil { replies += 1 }
        #expect(replies == 50)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }
}
