// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import HTTPTypes
import NIOCore
import Names
import Testing

@Suite("The pool over real sockets", .timeLimit(.minutes(1)))
struct PoolTests {
    /// An origin whose responses contain the number of their connection; `/slow` waits for the gate.
    private func lab(
        _ gate: Gate,
        _ change: (inout EngineConfiguration) -> Void = { _ in }
    ) async throws -> Lab {
        var configuration = EngineConfiguration()
        change(&configuration)
        return try await Lab(addresses: ["127.0.0.1"], configuration: configuration) { request in
            if request.path == "/slow" { try await gate.wait() }
            return .text("\(request.connection.number)")
        }
    }

    /// Opens `count` connections, and returns when all are idle in the pool.
    private func fill(_ lab: Lab, gate: Gate, count: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count { group.addTask { _ = try await lab.get("a.test", "/slow").text() } }
            try await gate.arrivals(atLeast: count)
            gate.open()
            try await group.waitForAll()
        }
    }

    @Test("the most recently used connection is used next, so that the others can expire")
    func lastInFirstOut() async throws {
        let gate = Gate()
        let lab = try await lab(gate)
        try await fill(lab, gate: gate, count: 3)
        let last = try await lab.get().text()
        for _ in 0..<5 { #expect(try await lab.get().text() == last) }
        #expect(lab.origin.connections.accepted == 3)
        await lab.stop()
    }

    @Test("waiting requests are served in order of arrival")
    func fairQueue() async throws {
        let gate = Gate()
        let lab = try await lab(gate) { $0.connectionsPerOrigin = 1 }
        async let first = lab.get("a.test", "/slow").text()
        try await gate.arrivals(atLeast: 1)
        var waiting: [Task<Void, any Error>] = []
        for index in 0..<5 {
            waiting.append(Task { _ = try await lab.get("a.test", "/\(index)").text() })
            // Wait until each request is in the queue before starting the next.
            try await eventually("the request in the queue") { lab.engine.waitingRequests > index }
        }
        gate.open()
        _ = try await first
        for task in waiting { try await task.value }
        #expect(lab.origin.requests.map(\.path) == ["/slow", "/0", "/1", "/2", "/3", "/4"])
        #expect(lab.origin.connections.accepted == 1)
        await lab.stop()
    }

    @Test("a full queue refuses at once, a queue that does not move times out, and both errors name the remedy")
    func bounds() async throws {
        let gate = Gate()
        let lab = try await lab(gate) {
            $0.connectionsPerOrigin = 1
            $0.waitersPerOrigin = 1
        }
        async let first = lab.get("a.test", "/slow").text()
        try await gate.arrivals(atLeast: 1)
        var limits = TimeLimits()
        limits.connect = .milliseconds(300)
        let waiter = Task { [limits] in try await lab.get(limits: limits).text() }
        try await eventually("a request in the queue") { lab.engine.waitingRequests > 0 }
        let refused = await #expect(throws: DirectHTTPError.self) { _ = try await lab.get() }
        #expect(refused?.code == .poolExhausted)
        #expect(refused?.message.contains("waitersPerOrigin") == true)
        let late = await #expect(throws: DirectHTTPError.self) { _ = try await waiter.value }
        #expect(late?.code == .poolExhausted)
        #expect(late?.message.contains("stayed busy until the time limit: raise connectionsPerOrigin") == true)
        gate.open()
        _ = try await first
        await lab.stop()
    }

    @Test("a wait for the pool that exceeds the limit of the whole request reports that limit")
    func wholeLimit() async throws {
        let gate = Gate()
        let lab = try await lab(gate) { $0.connectionsPerOrigin = 1 }
        async let first = lab.get("a.test", "/slow").text()
        try await gate.arrivals(atLeast: 1)
        var limits = TimeLimits()
        limits.total = .milliseconds(300)
        let late = await #expect(throws: DirectHTTPError.self) { _ = try await lab.get(limits: limits) }
        #expect(late?.code == .deadlineExceeded)
        #expect(late?.message.contains("stayed busy") == true)
        gate.open()
        _ = try await first
        await lab.stop()
    }

    @Test("a connection attempt that exceeds the limit of the whole request reports that limit")
    func wholeLimitOfDial() async throws {
        let lab = try await Lab(addresses: ["127.0.0.1"]) { _ in .text("unused") }
        let hole = try BlackHole()
        var limits = TimeLimits()
        limits.total = .milliseconds(300)
        let late = await #expect(throws: DirectHTTPError.self) {
            _ = try await lab.get(at: [hole.endpoint], limits: limits)
        }
        #expect(late?.code == .deadlineExceeded && late?.attempts.count == 1)
        hole.close()
        await lab.stop()
    }

    @Test("a cancelled waiter leaves the queue, and the next waiter is served")
    func cancelledWaiter() async throws {
        let gate = Gate()
        let lab = try await lab(gate) { $0.connectionsPerOrigin = 1 }
        async let first = lab.get("a.test", "/slow").text()
        try await gate.arrivals(atLeast: 1)
        let leaver = Task { try await lab.get("a.test", "/left").text() }
        try await eventually("a request in the queue") { lab.engine.waitingRequests > 0 }
        async let next = lab.get("a.test", "/next").text()
        leaver.cancel()
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await leaver.value }
        #expect(error?.code == .cancelled)
        gate.open()
        _ = try await (first, next)
        #expect(lab.origin.requests.map(\.path) == ["/slow", "/next"])
        await lab.stop()
    }

    @Test("a connection that was idle too long or is too old is closed")
    func ages() async throws {
        let gate = Gate()
        let resting = try await lab(gate) { $0.keepIdle = .milliseconds(100) }
        _ = try await resting.get().text()
        try await resting.origin.connections { $0.open == 0 }
        #expect(try await resting.get().text() == "2")
        await resting.stop()

        let old = try await lab(gate) { $0.maxConnectionAge = .zero }
        for number in 1...3 { #expect(try await old.get().text() == "\(number)") }
        try await old.origin.connections { $0.open == 0 }
        await old.stop()
    }

    @Test("an idle connection is closed in time after an exchange that was longer than the idle limit")
    func restAfterALongExchange() async throws {
        let gate = Gate()
        let lab = try await lab(gate) { $0.keepIdle = .milliseconds(100) }
        async let slow = lab.get("a.test", "/slow").text()
        try await gate.arrivals(atLeast: 1)
        // A second connection is opened later and reaches its idle limit. By then the first one's limit passed during
        // its exchange.
        _ = try await lab.get().text()
        try await lab.origin.connections { $0.accepted >= 2 && $0.open == 1 }
        gate.open()
        _ = try await slow
        try await lab.origin.connections { $0.open == 0 }
        await lab.stop()
    }

    @Test("a shared connection that is too old finishes its exchanges, and the next request opens a new one")
    func sharedAge() async throws {
        let gate = Gate()
        var configuration = EngineConfiguration()
        configuration.maxConnectionAge = .zero
        let lab = try await Lab(addresses: ["127.0.0.1"], configuration: configuration, protocols: ["h2"]) { request in
            if request.path == "/slow" { try await gate.wait() }
            return .text("\(request.connection.number)")
        }
        async let slow = lab.get("a.test", "/slow").text()
        try await gate.arrivals(atLeast: 1)
        #expect(try await lab.get().text() == "1")
        #expect(try await lab.get().text() == "2")
        gate.open()
        let text = try await slow
        #expect(text == "1")
        await lab.stop()
    }

    @Test("closeIdle closes idle connections only")
    func closeIdle() async throws {
        let gate = Gate()
        let lab = try await lab(gate)
        _ = try await lab.get().text()
        async let slow = lab.get("a.test", "/slow").text()
        try await gate.arrivals(atLeast: 1)
        _ = try await lab.get().text()
        #expect(lab.engine.openConnections == 2)
        lab.engine.closeIdle()
        try await lab.origin.connections { $0.open == 1 }
        gate.open()
        let text = try await slow
        #expect(text == "1")
        await lab.stop()
    }

    /// Returns endpoints when a gate opens.
    private struct GatedSource: EndpointSource {
        let list: [Endpoint]
        let gate: Gate

        func endpoints(for origin: Origin) async throws -> EndpointList {
            try await gate.wait()
            return EndpointList(list)
        }
    }

    @Test(
        "a connection that was being opened during a retirement serves its own request and is closed",
        arguments: ["h2", "http/1.1"]
    )
    func retiredWhileDialled(_ applicationProtocol: String) async throws {
        let lab = try await Lab(addresses: ["127.0.0.1"], protocols: [applicationProtocol]) { request in
            .text("\(request.connection.number)")
        }
        let gate = Gate()
        let source = GatedSource(list: lab.origin.endpoints, gate: gate)
        let url = try HTTPURL("https://a.test:\(lab.origin.port)/")
        async let first = lab.engine.exchange(PreparedRequest(.get, url), from: source, tls: lab.tls).text()
        try await gate.arrivals(atLeast: 1)
        lab.engine.retireConnections()
        gate.open()
        let text = try await first
        #expect(text == "1")
        #expect(try await lab.get().text() == "2", "answers from before the change are not used")
        try await lab.origin.connections { $0.accepted == 2 && $0.open == 1 }
        #expect(lab.engine.openConnections == 1)
        await lab.stop()
    }

    @Test("connections that were closed while idle do not count against their origin's limit")
    func countAfterClosing() async throws {
        let gate = Gate()
        let lab = try await lab(gate) { $0.connectionsPerOrigin = 2 }
        for _ in 0..<3 {
            _ = try await lab.get().text()
            lab.engine.closeIdle()
            try await lab.origin.connections { $0.open == 0 }
        }
        // Two connections are lent, and the third request waits for one of them.
        async let one = lab.get("a.test", "/slow").text()
        async let two = lab.get("a.test", "/slow").text()
        try await gate.arrivals(atLeast: 2)
        async let three = lab.get().text()
        try await eventually("a request in the queue") { lab.engine.waitingRequests > 0 }
        gate.open()
        _ = try await (one, two, three)
        #expect(lab.origin.connections.accepted == 5)
        #expect(lab.engine.openConnections == 2, "both are kept")
        await lab.stop()
    }

    @Test("a change of addresses keeps live connections, and new connections use the new addresses")
    func newResolution() async throws {
        let gate = Gate()
        let lab = try await Lab { request in
            if request.path == "/slow" { try await gate.wait() }
            return .text(request.connection.local.address.description)
        }
        let (old, new) = ([lab.origin.endpoints[0]], [lab.origin.endpoints[1]])
        #expect(try await lab.get(at: old).text() == "127.0.0.1")
        #expect(try await lab.get(at: new).text() == "127.0.0.1", "the kept connection still works")
        async let slow = lab.get("a.test", "/slow", at: new).text()
        try await gate.arrivals(atLeast: 1)
        #expect(
            try await lab.get(at: new).text() == "127.0.0.2",
            "and where one must be dialled, the answer of now counts"
        )
        gate.open()
        let text = try await slow
        #expect(text == "127.0.0.1")
        await lab.stop()
    }

    @Test("a graceful shutdown lets running exchanges finish, and refuses new requests")
    func drain() async throws {
        let gate = Gate()
        let lab = try await lab(gate)
        async let slow = lab.get("a.test", "/slow").text()
        try await gate.arrivals(atLeast: 1)
        async let end: Void = lab.engine.shutDown(after: .seconds(30))
        try await lab.untilShutDown()
        gate.open()
        let text = try await slow
        #expect(text == "1")
        await end
        #expect(lab.engine.openConnections == 0)
        await lab.origin.stop()
    }

    @Test(
        "a shutdown ends running exchanges when its grace period is over, and does not blame the server",
        arguments: ["http/1.1", "h2"]
    )
    func drainInTime(version: String) async throws {
        let gate = Gate()
        let lab = try await Lab(addresses: ["127.0.0.1"], protocols: [version]) { _ in
            try await gate.wait()
            return .text("late")
        }
        let slow = Task { try await lab.get("a.test", "/slow").text() }
        try await gate.arrivals(atLeast: 1)
        await lab.engine.shutDown(after: .milliseconds(100))
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await slow.value }
        #expect(error?.code == .connectionLost)
        #expect(error?.message.contains("server") == false, "\(error?.message ?? "")")
        gate.open()
        await lab.origin.stop()
    }

    @Test("over HTTP/1.1, informational responses are skipped, and trailers follow the body")
    func hintsAndTrailers() async throws {
        let lab = try await Lab(addresses: ["127.0.0.1"], handler: Routes.standard)
        let response = try await lab.get("a.test", "/trailers")
        #expect(try await response.text() == "body\n")
        #expect(response.trailers?.isEmpty == false)
        #expect(try await lab.get("a.test", "/hints").text() == "hinted\n")
        #expect(lab.origin.connections.accepted == 1)
        await lab.stop()
    }
}

extension Lab {
    /// Returns when the engine refuses new requests.
    func untilShutDown() async throws {
        for _ in 0..<1_000_000 {
            do {
                _ = try await get().text()
            } catch let error as DirectHTTPError where error.code == .shutDown {
                return
            } catch {}
            await Task.yield()
        }
        Issue.record("the engine accepts requests during its shutdown")
    }
}
