// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import HTTPTypes
import NIOCore
import Names
import Testing

@Suite("The pool, over real sockets", .timeLimit(.minutes(1)))
struct PoolTests {
    /// An origin whose answers name the connection they came by; `/slow` waits for the gate.
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

    /// Opens as many connections as asked for, and returns when all rest in the pool.
    private func fill(_ lab: Lab, _ gate: Gate, _ count: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count { group.addTask { _ = try await lab.get("a.test", "/slow").text() } }
            try await gate.arrivals(atLeast: count)
            gate.open()
            try await group.waitForAll()
        }
    }

    @Test("the connection that was used last is used next, so that the rest can grow old")
    func lastInFirstOut() async throws {
        let gate = Gate()
        let lab = try await lab(gate)
        try await fill(lab, gate, 3)
        let last = try await lab.get().text()
        for _ in 0..<5 { #expect(try await lab.get().text() == last) }
        #expect(lab.origin.connections.accepted == 3)
        await lab.stop()
    }

    @Test("those who wait for a connection are served in the order of their coming")
    func fairQueue() async throws {
        let gate = Gate()
        let lab = try await lab(gate) { $0.connectionsPerOrigin = 1 }
        async let first = lab.get("a.test", "/slow").text()
        try await gate.arrivals(atLeast: 1)
        var waiting: [Task<Void, any Error>] = []
        for index in 0..<5 {
            waiting.append(Task { _ = try await lab.get("a.test", "/\(index)").text() })
            // Each is in the queue before the next comes.
            while lab.engine.waitingRequests <= index { await Task.yield() }
        }
        gate.open()
        _ = try await first
        for task in waiting { try await task.value }
        #expect(lab.origin.requests.map(\.path) == ["/slow", "/0", "/1", "/2", "/3", "/4"])
        #expect(lab.origin.connections.accepted == 1)
        await lab.stop()
    }

    @Test("a full queue refuses at once, and one that does not move gives up in time; both say what to do")
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
        while lab.engine.waitingRequests == 0 { await Task.yield() }
        let refused = await #expect(throws: DirectHTTPError.self) { _ = try await lab.get() }
        #expect(refused?.code == .poolExhausted)
        #expect(refused?.message.contains("waitersPerOrigin") == true)
        let late = await #expect(throws: DirectHTTPError.self) { _ = try await waiter.value }
        #expect(late?.code == .poolExhausted)
        #expect(late?.message.contains("stayed busy") == true)
        gate.open()
        _ = try await first
        await lab.stop()
    }

    @Test("a wait for the pool that outlasts the time for the whole request says that this limit was the cause")
    func wholeLimit() async throws {
        let gate = Gate()
        let lab = try await lab(gate) { $0.connectionsPerOrigin = 1 }
        async let first = lab.get("a.test", "/slow").text()
        try await gate.arrivals(atLeast: 1)
        var limits = TimeLimits()
        limits.whole = .milliseconds(300)
        let late = await #expect(throws: DirectHTTPError.self) { _ = try await lab.get(limits: limits) }
        #expect(late?.code == .deadlineExceeded)
        #expect(late?.message.contains("stayed busy") == true)
        gate.open()
        _ = try await first
        await lab.stop()
    }

    @Test("so does a connection that is not made in it")
    func wholeLimitOfDial() async throws {
        let lab = try await Lab(addresses: ["127.0.0.1"]) { _ in .text("unused") }
        let hole = try BlackHole()
        var limits = TimeLimits()
        limits.whole = .milliseconds(300)
        let late = await #expect(throws: DirectHTTPError.self) {
            _ = try await lab.get(at: [hole.endpoint], limits: limits)
        }
        #expect(late?.code == .deadlineExceeded && late?.attempts.count == 1)
        hole.close()
        await lab.stop()
    }

    @Test("a waiter that is cancelled leaves the queue, and the next one is served")
    func cancelledWaiter() async throws {
        let gate = Gate()
        let lab = try await lab(gate) { $0.connectionsPerOrigin = 1 }
        async let first = lab.get("a.test", "/slow").text()
        try await gate.arrivals(atLeast: 1)
        let leaver = Task { try await lab.get("a.test", "/left").text() }
        while lab.engine.waitingRequests == 0 { await Task.yield() }
        async let next = lab.get("a.test", "/next").text()
        leaver.cancel()
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await leaver.value }
        #expect(error?.code == .cancelled)
        gate.open()
        _ = try await (first, next)
        #expect(lab.origin.requests.map(\.path) == ["/slow", "/next"])
        await lab.stop()
    }

    @Test("a connection that rested too long is closed, and so is one that grew too old")
    func ages() async throws {
        let gate = Gate()
        let resting = try await lab(gate) { $0.keepIdle = .milliseconds(100) }
        _ = try await resting.get().text()
        try await resting.origin.connections { $0.open == 0 }
        #expect(try await resting.get().text() == "2")
        await resting.stop()

        let old = try await lab(gate) { $0.maximumAge = .zero }
        for number in 1...3 { #expect(try await old.get().text() == "\(number)") }
        try await old.origin.connections { $0.open == 0 }
        await old.stop()
    }

    @Test("a connection that rests after an exchange longer than its rest is closed in time, too")
    func restAfterALongExchange() async throws {
        let gate = Gate()
        let lab = try await lab(gate) { $0.keepIdle = .milliseconds(100) }
        async let slow = lab.get("a.test", "/slow").text()
        try await gate.arrivals(atLeast: 1)
        // Another one comes later and rests so long: then the first has been due as well, in the middle of its exchange.
        _ = try await lab.get().text()
        try await lab.origin.connections { $0.accepted >= 2 && $0.open == 1 }
        gate.open()
        _ = try await slow
        try await lab.origin.connections { $0.open == 0 }
        await lab.stop()
    }

    @Test("a shared connection that grew too old serves what it carries, and the next request dials anew")
    func sharedAge() async throws {
        let gate = Gate()
        var configuration = EngineConfiguration()
        configuration.maximumAge = .zero
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

    @Test("closeIdle closes what rests and leaves what works")
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

    /// Names endpoints when a gate opens.
    private struct GatedSource: EndpointSource {
        let list: [Endpoint]
        let gate: Gate

        func endpoints(for origin: Origin) async throws -> EndpointList {
            try await gate.wait()
            return EndpointList(list)
        }
    }

    @Test(
        "a connection that was being dialled when all were retired serves its own request and is closed",
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
        #expect(try await lab.get().text() == "2", "what was known before the change is not used any more")
        try await lab.origin.connections { $0.accepted == 2 && $0.open == 1 }
        #expect(lab.engine.openConnections == 1)
        await lab.stop()
    }

    @Test("connections that were closed while idle leave the bound of their origin as it was")
    func countAfterClosing() async throws {
        let gate = Gate()
        let lab = try await lab(gate) { $0.connectionsPerOrigin = 2 }
        for _ in 0..<3 {
            _ = try await lab.get().text()
            lab.engine.closeIdle()
            try await lab.origin.connections { $0.open == 0 }
        }
        // Two are lent, and the third request waits for one of them.
        async let one = lab.get("a.test", "/slow").text()
        async let two = lab.get("a.test", "/slow").text()
        try await gate.arrivals(atLeast: 2)
        async let three = lab.get().text()
        while lab.engine.waitingRequests == 0 { await Task.yield() }
        gate.open()
        _ = try await (one, two, three)
        #expect(lab.origin.connections.accepted == 5)
        #expect(lab.engine.openConnections == 2, "both are kept")
        await lab.stop()
    }

    @Test("a change of addresses leaves live connections alone, and new ones follow it")
    func newResolution() async throws {
        let gate = Gate()
        let lab = try await Lab { request in
            if request.path == "/slow" { try await gate.wait() }
            return .text(request.connection.local.address.description)
        }
        let (old, new) = ([lab.origin.endpoints[0]], [lab.origin.endpoints[1]])
        #expect(try await lab.get(at: old).text() == "127.0.0.1")
        #expect(try await lab.get(at: new).text() == "127.0.0.1", "the kept connection is as good as ever")
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

    @Test("a shutdown with grace lets what is under way end, and refuses what comes after")
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

    @Test("a shutdown whose grace runs out ends what is under way")
    func drainInTime() async throws {
        let gate = Gate()
        let lab = try await lab(gate)
        let slow = Task { try await lab.get("a.test", "/slow").text() }
        try await gate.arrivals(atLeast: 1)
        await lab.engine.shutDown(after: .milliseconds(100))
        await #expect(throws: DirectHTTPError.self) { _ = try await slow.value }
        gate.open()
        await lab.origin.stop()
    }

    @Test("informational responses are passed over, and trailers come after the body, on HTTP/1.1 too")
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
    /// Returns when the engine refuses what is new.
    func untilShutDown() async throws {
        for _ in 0..<1_000_000 {
            do {
                _ = try await get().text()
            } catch let error as DirectHTTPError where error.code == .shutDown {
                return
            } catch {}
            await Task.yield()
        }
        Issue.record("the engine takes requests although it is being shut down")
    }
}
