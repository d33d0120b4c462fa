// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import HTTPTypes
import NIOCore
import Names
import Testing

@testable import DirectHTTP

#if os(Linux)
/// The kernel lists a connecting socket as SYN_SENT, and keeps trying for two minutes.
@Suite("An ended dial leaves no connecting socket open", .timeLimit(.minutes(1)))
struct DialEndingTests {
    /// The connecting sockets from one local address, which only one test uses, to an endpoint.
    private struct Connecting {
        let local: String
        let endpoint: Endpoint

        /// The number of these sockets.
        var count: Int {
            get throws {
                let octets = try #require(IPAddress(local)).octets
                // The kernel prints addresses in its own byte order.
                let address = octets.reversed().map { Self.hex(Int($0), digits: 2) }.joined()
                let port = Self.hex(Int(endpoint.port), digits: 4)
                // The kernel reports a size of zero for this file.
                let file = try #require(FileHandle(forReadingAtPath: "/proc/net/tcp"))
                defer { try? file.close() }
                var lines: [UInt8] = []
                while let bytes = try file.read(upToCount: 1 << 16), !bytes.isEmpty { lines += bytes }
                #expect(!lines.isEmpty)
                return String(decoding: lines, as: UTF8.self).split(separator: "\n").count { line in
                    let columns = line.split(separator: " ")
                    guard columns.count > 3 else { return false }
                    return columns[1].hasPrefix("\(address):") && columns[2].hasSuffix(":\(port)") && columns[3] == "02"
                }
            }
        }

        private static func hex(_ number: Int, digits: Int) -> String {
            let text = String(number, radix: 16, uppercase: true)
            return String(repeating: "0", count: digits - text.count) + text
        }

        /// Waits until there is such a socket.
        func begun() async throws {
            try await eventually("a socket that connects") { try self.count > 0 }
        }
    }

    private func engine(from local: String) throws -> Engine {
        var configuration = EngineConfiguration()
        configuration.dial.stagger = .milliseconds(20)
        configuration.dial.localAddresses = [try #require(IPAddress(local))]
        return Engine(configuration: configuration)
    }

    private func get(_ engine: Engine, at endpoints: [Endpoint], port: UInt16) async throws -> ExchangeResponse {
        var limits = TimeLimits()
        limits.connect = nil
        return try await engine.exchange(
            PreparedRequest(.get, HTTPURL("http://a.test:\(port)/")),
            from: EndpointList(endpoints),
            limits: limits
        )
    }

    @Test("a cancelled dial closes its connecting sockets")
    func cancelled() async throws {
        let hole = try BlackHole()
        let engine = try engine(from: "127.0.0.61")
        let connecting = Connecting(local: "127.0.0.61", endpoint: hole.endpoint)
        let task = Task { try await get(engine, at: [hole.endpoint], port: 80) }
        try await connecting.begun()
        task.cancel()
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await task.value }
        #expect(error?.code == .cancelled)
        #expect(try connecting.count == 0)
        hole.close()
        await engine.shutDown()
    }

    @Test("a dial closes its other connecting sockets when one endpoint wins")
    func lost() async throws {
        let origin = try await LoopbackOrigin.start { _ in .text("ok") }
        let hole = try BlackHole()
        let engine = try engine(from: "127.0.0.62")
        let connecting = Connecting(local: "127.0.0.62", endpoint: hole.endpoint)
        let response = try await get(engine, at: [hole.endpoint, origin.endpoint], port: origin.port)
        #expect(response.connection.attempts.map(\.outcome) == [.abandoned, .connected])
        #expect(try connecting.count == 0)
        _ = try await response.text()
        hole.close()
        await engine.shutDown()
        await origin.stop()
    }

    @Test("a shutdown with or without grace ends a dial and its sockets", arguments: [Duration.zero, .seconds(3600)])
    func shutDown(_ grace: Duration) async throws {
        let hole = try BlackHole()
        let engine = try engine(from: "127.0.0.63")
        let connecting = Connecting(local: "127.0.0.63", endpoint: hole.endpoint)
        let task = Task { try await get(engine, at: [hole.endpoint], port: 80) }
        try await connecting.begun()
        await engine.shutDown(after: grace)
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await task.value }
        #expect(error?.code == .shutDown)
        #expect(error?.attempts.map(\.endpoint) == [hole.endpoint])
        #expect(try connecting.count == 0)
        hole.close()
    }

    @Test("a shutdown ends a pending lookup of endpoints")
    func questionOfAnEngineThatIsShutDown() async throws {
        struct Silent: EndpointSource {
            let gate: Gate

            func endpoints(for origin: Origin) async throws -> EndpointList {
                try await gate.wait()
                return EndpointList([])
            }
        }
        let gate = Gate()
        let engine = Engine()
        var limits = TimeLimits()
        limits.connect = nil
        let task = Task { [limits] in
            let request = try PreparedRequest(.get, HTTPURL("http://a.test/"))
            return try await engine.exchange(request, from: Silent(gate: gate), limits: limits)
        }
        try await gate.arrivals(atLeast: 1)
        await engine.shutDown()
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await task.value }
        #expect(error?.code == .shutDown)
    }
}
#endif
