// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import Names
import Testing

@testable import DirectHTTP

@Suite("Other endpoints after all of the first have failed", .timeLimit(.minutes(1)))
struct SecondDialTests {
    /// A source with other endpoints after the first ones, which records what it is told.
    private final class Source: EndpointSource {
        let first: [Endpoint]
        let other: @Sendable () async throws -> [Endpoint]
        let attempts = NIOLockedValueBox<[Attempt]>([])
        let failed = NIOLockedValueBox<[Endpoint]>([])

        init(_ first: [Endpoint], other: @escaping @Sendable () async throws -> [Endpoint] = { [] }) {
            self.first = first
            self.other = other
        }

        // Not an EndpointList, so that the engine asks for it.
        func endpoints(for origin: Origin) async throws -> EndpointList { EndpointList(first) }
        func endpoints(for origin: Origin, insteadOf failed: EndpointList) async throws -> EndpointList? {
            self.failed.withLockedValue { $0 = failed.endpoints }
            return EndpointList(try await other())
        }
        func attempted(_ attempt: Attempt, for origin: Origin) { attempts.withLockedValue { $0.append(attempt) } }
    }

    @Test(
        "a request that ends while other endpoints are awaited was cancelled or shut down, and did not fail to connect",
        arguments: [DirectHTTPError.Code.cancelled, .shutDown]
    )
    func endedInTheQuestion(code: DirectHTTPError.Code) async throws {
        let gate = Gate()
        let dead = try RefusedEndpoint()
        let engine = Engine()
        let source = Source([dead.endpoint]) {
            try await gate.wait()
            return []
        }
        let task = Task {
            try await engine.exchange(PreparedRequest(.get, HTTPURL("http://a.test/")), from: source)
        }
        try await gate.arrivals(atLeast: 1)
        if code == .cancelled { task.cancel() } else { await engine.shutDown() }
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await task.value }
        #expect(error?.code == code)
        dead.close()
        await engine.shutDown()
    }

    @Test("an error after a second dial has the attempts of both dials and the most specific code")
    func errorOfBoth() async throws {
        let authority = try TestAuthority()
        let other = try await LoopbackOrigin.start(tls: ServerTLS(try authority.certificate(for: "b.test"))) { _ in
            .text("ok")
        }
        let dead = try RefusedEndpoint(address: "127.0.0.9", port: other.port)
        let engine = Engine()
        let source = Source(other.endpoints) { [dead.endpoint] }
        var tls = TLSSettings()
        tls.rootPEMs = [authority.rootPEM]
        let request = try PreparedRequest(.get, HTTPURL("https://a.test:\(other.port)/"))
        let error = await #expect(throws: DirectHTTPError.self) {
            _ = try await engine.exchange(request, from: source, tls: tls)
        }
        #expect(error?.code == .certificateRejected)
        #expect(error?.attempts.map(\.endpoint) == other.endpoints + [dead.endpoint])
        for endpoint in other.endpoints + [dead.endpoint] {
            #expect(error?.message.contains("\(endpoint)") == true, "\(endpoint)")
        }
        dead.close()
        await engine.shutDown()
        await other.stop()
    }

    @Test("the second request of a hedge avoids the first one's endpoint also among the other endpoints")
    func hedge() async throws {
        let origin = try await LoopbackOrigin.start(addresses: ["127.0.0.1", "127.0.0.2"]) { _ in .text("ok") }
        let (slow, fast) = (origin.endpoints[0], origin.endpoints[1])
        let dead = try RefusedEndpoint(address: "127.0.0.9", port: origin.port)
        let engine = Engine()
        let source = Source([slow, dead.endpoint]) { [slow, fast] }
        let taken = HedgeSide.Endpoints()
        HedgeSide(recording: taken).record(slow)
        var request = try PreparedRequest(.get, HTTPURL("http://a.test:\(origin.port)/"))
        request.hedgeSide = HedgeSide(avoiding: taken)
        let response = try await engine.exchange(request, from: source)
        #expect(response.connection.attempts.map(\.endpoint) == [dead.endpoint, fast])
        #expect(Set(source.failed.withLockedValue { $0 }) == [slow, dead.endpoint])
        _ = try await response.text()
        dead.close()
        await engine.shutDown()
        await origin.stop()
    }

    @Test("the attempts of a dial are reported once, and not again when a request fails on its connection")
    func reportedOnce() async throws {
        let origin = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.send("this is not HTTP\r\n\r\n")
        }
        let hole = try BlackHole()
        var configuration = EngineConfiguration()
        configuration.dial.stagger = .milliseconds(20)
        let engine = Engine(configuration: configuration)
        let source = Source([hole.endpoint, origin.endpoint])
        let url = try HTTPURL("http://a.test:\(origin.port)/")
        let first = try await engine.exchange(PreparedRequest(.get, url), from: source)
        _ = try await first.text()
        let reported = source.attempts.withLockedValue { $0 }
        #expect(Set(reported.map(\.endpoint)) == [hole.endpoint, origin.endpoint] && reported.count == 2)
        #expect(reported.first { $0.endpoint == hole.endpoint }?.wasSilent == true)
        let error = await #expect(throws: DirectHTTPError.self) {
            _ = try await engine.exchange(PreparedRequest(.get, url), from: source)
        }
        #expect(
            error?.attempts.map(\.endpoint).contains(hole.endpoint) == true,
            "the error has those of the connection"
        )
        #expect(source.attempts.withLockedValue { $0.count } == 2)
        hole.close()
        await engine.shutDown()
        await origin.stop()
    }
}
