// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOCore
import NIOPosix
import Names
import Testing

@testable import DirectHTTP

@Suite("Dialling: local addresses, endpoints and remembered failures", .timeLimit(.minutes(1)))
struct DialTests {
    /// Records attempts as they end.
    struct Listening: EndpointSource {
        let list: [Endpoint]
        let heard: AsyncStream<Attempt>
        private let ended: AsyncStream<Attempt>.Continuation

        init(list: [Endpoint]) {
            self.list = list
            (heard, ended) = AsyncStream.makeStream()
        }

        func endpoints(for origin: Origin) -> EndpointList { EndpointList(list) }
        func attempted(_ attempt: Attempt, for origin: Origin) { ended.yield(attempt) }
    }

    private func get(
        _ url: String,
        _ engine: Engine,
        from source: some EndpointSource,
        route: Route = .direct
    ) async throws -> ExchangeResponse {
        try await engine.exchange(PreparedRequest(.get, HTTPURL(url)), from: source, route: route)
    }

    @Test("an attempt is reported when it ends, before the whole dial ends")
    func reportedOneByOne() async throws {
        let origin = try await LoopbackOrigin.start { _ in .text("ok") }
        let refused = try RefusedEndpoint()
        let hole = try BlackHole()
        var configuration = EngineConfiguration()
        configuration.dial.stagger = .seconds(3600)
        let engine = Engine(configuration: configuration)
        let source = Listening(list: [refused.endpoint, hole.endpoint])
        let task = Task { try await get("http://a.test:\(origin.port)/", engine, from: source) }
        // The black hole keeps the dial running.
        var heard = source.heard.makeAsyncIterator()
        let first = await heard.next()
        #expect(first?.endpoint == refused.endpoint)
        task.cancel()
        _ = await task.result
        let second = await heard.next()
        #expect(second?.endpoint == hole.endpoint)
        #expect(second?.outcome == .abandoned)
        hole.close()
        await engine.shutDown()
        await origin.stop()
    }

    @Test("with a limit of attempts at once, silent endpoints make room, and a later endpoint connects")
    func limitedAttempts() async throws {
        let origin = try await LoopbackOrigin.start { _ in .text("ok") }
        let holes = try (0..<4).map { _ in try BlackHole() }
        var configuration = EngineConfiguration()
        configuration.dial.stagger = .milliseconds(20)
        configuration.dial.maxConcurrentAttempts = 2
        let engine = Engine(configuration: configuration)
        let list = EndpointList(holes.map(\.endpoint) + [origin.endpoint])
        let response = try await get("http://a.test:\(origin.port)/", engine, from: list)
        let silent = Attempt.Outcome.failed(.connectTimeout, "did not answer")
        #expect(response.connection.attempts.map(\.outcome) == [silent, silent, silent, .abandoned, .connected])
        _ = try await response.text()
        for hole in holes { hole.close() }
        await engine.shutDown()
        await origin.stop()
    }

    @Test("an endpoint that failed is tried last in the next race, until it succeeds")
    func memory() async throws {
        let origin = try await LoopbackOrigin.start { _ in .text("ok") }
        let refused = try RefusedEndpoint()
        let engine = Engine()
        let url = "http://a.test:\(origin.port)/"
        let list = EndpointList([refused.endpoint, origin.endpoint])
        let first = try await get(url, engine, from: list)
        #expect(first.connection.attempts.map(\.endpoint) == [refused.endpoint, origin.endpoint])
        _ = try await first.text()
        engine.closeIdle()
        let second = try await get(url, engine, from: list)
        #expect(second.connection.attempts.map(\.endpoint) == [origin.endpoint])
        _ = try await second.text()
        // A change of network clears the memory.
        engine.retireConnections()
        let third = try await get(url, engine, from: list)
        #expect(third.connection.attempts.map(\.endpoint) == [refused.endpoint, origin.endpoint])
        _ = try await third.text()
        await engine.shutDown()
        await origin.stop()
    }

    /// Without a handshake, a dial ends in the middle of its connection's actions. The last action set a timer that
    /// kept the race and its waiters in memory for the length of a handshake.
    @Test("a dial that ended keeps no timer and no waiter")
    func nothingIsKept() async throws {
        final class Waiting {}
        let origin = try await LoopbackOrigin.start { _ in .text("ok") }
        let endpoint = origin.endpoints[0]
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let engine = Engine()
        let (kept, keep) = AsyncStream.makeStream(of: Bool.self)
        let dialed = loop.makePromise(of: Void.self)
        let bound = NIOLoopBoundBox<(waiting: () -> Waiting?, dial: DialRace?)?>.makeEmptyBox(
            valueType: (waiting: () -> Waiting?, dial: DialRace?).self,
            eventLoop: loop
        )
        loop.execute {
            let waiting = Waiting()
            let dial = engine.race(
                to: EndpointList([endpoint]),
                for: Origin(scheme: .http, host: Host(endpoint.address), port: endpoint.port),
                route: .direct,
                on: loop,
                settings: DialSettings(),
                tls: TLSSettings(),
                isTunnel: false,
                attempted: { _ in }
            ) { result in
                _ = waiting
                if case .success(let won) = result { won.channel.close(promise: nil) }
                bound.value?.dial = nil
                dialed.succeed()
            }
            bound.value = ({ [weak waiting] in waiting }, dial)
            dial?.start()
        }
        try await dialed.futureResult.get()
        // The dial's own work ends after some turns of the loop; its handshake stagger is two seconds.
        for _ in 0..<20 { try await loop.submit {}.get() }
        loop.execute { keep.yield(bound.value?.waiting() != nil) }
        #expect(await kept.first { _ in true } == false)
        await engine.shutDown()
        await origin.stop()
    }

    @Test(
        "an endpoint is not blamed for a time limit that is shorter than the stagger",
        arguments: [
            (Duration.zero, Duration.milliseconds(250), [Attempt.Outcome]()),
            (.milliseconds(30), .seconds(3600), [.abandoned]),
            (.milliseconds(100), .milliseconds(1), [.failed(.connectTimeout, "did not answer")]),
        ]
    )
    func shortLimit(_ connect: Duration, _ stagger: Duration, _ outcomes: [Attempt.Outcome]) async throws {
        let hole = try BlackHole()
        var configuration = EngineConfiguration()
        configuration.dial.stagger = stagger
        let engine = Engine(configuration: configuration)
        var limits = TimeLimits()
        limits.connect = connect
        let error = await #expect(throws: DirectHTTPError.self) {
            _ = try await engine.exchange(
                PreparedRequest(.get, HTTPURL("http://a.test/")),
                from: EndpointList([hole.endpoint]),
                limits: limits
            )
        }
        #expect(error?.code == .connectTimeout)
        #expect(error?.attempts.map(\.outcome) == outcomes)
        hole.close()
        await engine.shutDown()
    }

    @Test("a connection that replaces a dead one has the full time limit to connect")
    func laterRounds() async throws {
        var limits = TimeLimits()
        limits.connect = .seconds(10)
        limits.total = .seconds(60)
        var clock = ExchangeClock(limits: limits)
        let (begin, second) = (clock.begin, clock.begin + .seconds(20))
        #expect(clock.connectDeadline == begin + .seconds(10))
        clock.beginRound(connected: begin, now: second)
        #expect(clock.connectDeadline == second + .seconds(10))
        clock.beginRound(connected: second, now: begin + .seconds(55))
        #expect(clock.connectDeadline == begin + .seconds(60), "not beyond the whole")

        // All dials together have three times the limit, however often the server refuses the request.
        limits.total = nil
        clock = ExchangeClock(limits: limits)
        let start = clock.begin
        for (round, left) in [10, 10, 10, 0, 0].enumerated() {
            let now = start + .seconds(Int64(100 * round))
            if round > 0 { clock.beginRound(connected: now - .seconds(90), now: now) }
            #expect(clock.connectDeadline == now + .seconds(Int64(left)))
        }

        // A kept connection whose server takes longer than that to be gone.
        let turn = Gate()
        let count = Watermark()
        let server = try await RawServer.start { connection in
            count.rise()
            let isFirst = count.height == 1
            while try await connection.receive(until: "\r\n\r\n") != nil {
                if isFirst, count.height == 1, turn.isOpen { return }
                try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                if isFirst {
                    _ = try await connection.receive(until: "\r\n\r\n")
                    try await turn.wait()
                    return
                }
            }
        }
        let engine = Engine()
        let list = EndpointList([server.endpoint])
        let request = try PreparedRequest(.get, HTTPURL("http://a.test:\(server.port)/"))
        _ = try await engine.exchange(request, from: list).text()
        limits.connect = .seconds(1)
        async let late = engine.exchange(request, from: list, limits: limits).text()
        try await turn.arrivals(atLeast: 1)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        try await loop.scheduleTask(in: .milliseconds(1_100)) {}.futureResult.get()
        turn.open()
        #expect(try await late == "ok")
        await engine.shutDown()
        await server.stop()
    }

    @Test("connections come from the configured local address")
    func localAddress() async throws {
        let origin = try await LoopbackOrigin.start { .text("\($0.connection.remote.address)") }
        var configuration = EngineConfiguration()
        configuration.dial.localAddresses = [try #require(IPAddress("127.0.0.7"))]
        let engine = Engine(configuration: configuration)
        let url = "http://a.test:\(origin.port)/"
        #expect(try await get(url, engine, from: EndpointList(origin.endpoints)).text() == "127.0.0.7")
        let six = EndpointList([Endpoint(IPAddress(v6: 0, 1), port: 1)])
        let error = await #expect(throws: DirectHTTPError.self) {
            _ = try await get("http://b.test/", engine, from: six)
        }
        #expect(error?.message.contains("local addresses") == true)
        await engine.shutDown()
        await origin.stop()
    }

    @Test("connections use the configured interface, and an error names an unknown one")
    func interface() async throws {
        let origin = try await LoopbackOrigin.start { _ in .text("ok") }
        var configuration = EngineConfiguration()
        configuration.dial.interface = loopbackInterface
        let engine = Engine(configuration: configuration)
        let url = "http://a.test:\(origin.port)/"
        #expect(try await get(url, engine, from: EndpointList(origin.endpoints)).text() == "ok")
        for name in ["none0", "a-name-that-is-too-long-for-an-interface", ""] {
            configuration.dial.interface = name
            let other = Engine(configuration: configuration)
            let error = await #expect(throws: DirectHTTPError.self) {
                _ = try await get(url, other, from: EndpointList(origin.endpoints))
            }
            #expect(error?.code == .connectFailed)
            await other.shutDown()
        }
        await engine.shutDown()
        await origin.stop()
    }

    private var loopbackInterface: String {
        #if canImport(Darwin)
        "lo0"
        #else
        "lo"
        #endif
    }

    @Test("the scope of a link-local address is passed to the kernel")
    func scope() throws {
        let endpoint = try #require(Endpoint("[fe80::1%7]:443"))
        #expect(endpoint.scope == 7)
        #expect(endpoint.description == "[fe80::1%7]:443")
        #expect(Endpoint("[fe80::1%eth0]:443") == nil, "interface names differ between systems")
        #expect(Endpoint("192.0.2.1%1:443") == nil)
        guard case .v6(let address) = try SocketAddress(endpoint) else {
            Issue.record("no IPv6 address")
            return
        }
        var raw = address.address
        #expect(withUnsafeBytes(of: &raw) { $0.load(fromByteOffset: 24, as: UInt32.self) } == 7)
        #expect(try SocketAddress(Endpoint(endpoint.address, port: 443)).ipAddress == "fe80::1")
    }

    @Test("a Unix domain socket carries an origin's requests, and no endpoints are looked up")
    func unixSocket() async throws {
        let origin = try await LoopbackOrigin.start { .text("\($0.authority ?? "-") \($0.target)") }
        let daemon = try await UnixSocketServer.start()
        let engine = Engine()
        let source = Listening(list: [])
        let response = try await get("http://daemon.test/x", engine, from: source, route: .unixSocket(daemon.path))
        #expect(try await response.text() == "GET /x HTTP/1.1 Host: daemon.test")
        #expect(response.connection.endpoint == Endpoint(IPAddress(v4: 0), port: 0))
        let error = await #expect(throws: DirectHTTPError.self) {
            _ = try await get("http://daemon.test/x", engine, from: source, route: .unixSocket(daemon.path + ".none"))
        }
        #expect(error?.code == .connectFailed)
        let reason = "the socket \(daemon.path).none cannot be reached: No such file or directory"
        #expect(error?.message == "cannot connect to http://daemon.test: \(reason)", "\(error as Any)")
        let long = await #expect(throws: DirectHTTPError.self) {
            let path = daemon.path + String(repeating: "x", count: 200)
            _ = try await get("http://daemon.test/x", engine, from: source, route: .unixSocket(path))
        }
        #expect(long?.message.hasSuffix("xxx has a path that is too long") == true)
        await engine.shutDown()
        try await daemon.stop()
        await origin.stop()
    }

    @Test(
        "an error that prevents a connection names the cause and the remedy",
        arguments: [
            ("[fe80::1]:80", nil, nil, "link-local address, which needs its interface, in a URL [fe80::1%25eth0]"),
            (
                "127.0.0.1:80", "203.0.113.77", nil,
                "from the local addresses 203.0.113.77: one of them must be this machine's"
            ),
            (
                "127.0.0.1:80", "::1", nil,
                "from the local addresses ::1: one of them must be this machine's and of its family"
            ),
            ("127.0.0.1:80", nil, "no-such-one", "this machine has no interface no-such-one"),
        ] as [(String, String?, String?, String)]
    )
    func unreachable(_ endpoint: String, _ local: String?, _ interface: String?, _ words: String) async throws {
        var configuration = EngineConfiguration()
        configuration.dial.localAddresses = [local.flatMap { IPAddress($0) }].compactMap(\.self)
        configuration.dial.interface = interface
        let engine = Engine(configuration: configuration)
        let list = EndpointList([try #require(Endpoint(endpoint))])
        let error = await #expect(throws: DirectHTTPError.self) {
            _ = try await get("http://a.test/", engine, from: list)
        }
        #expect(error?.code == .connectFailed)
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
        await engine.shutDown()
    }
}
