// SPDX-License-Identifier: Apache-2.0

import Beeline
import Foundation
import Testing

/// The cases of the Autobahn test suite for WebSocket clients; CONTRIBUTING.md says how to run them.
@Suite(
    "The WebSocket cases of Autobahn",
    .enabled(if: ProcessInfo.processInfo.environment["BEELINE_AUTOBAHN"] != nil, "no fuzzingserver is given")
)
struct WebSocketSuiteTests {
    private struct Status: Decodable {
        let behavior: String
    }

    @Test("no case fails")
    func cases() async throws {
        let client = try BeelineClient()
        let server = ProcessInfo.processInfo.environment["BEELINE_AUTOBAHN"] ?? ""
        let count = try #require(Int(try await Self.text("\(server)/getCaseCount", client)))
        for number in 1...count {
            // Many cases break the protocol and end with an error.
            try? await Self.echo("\(server)/runCase?case=\(number)&agent=beeline", client)
            let text = try await Self.text("\(server)/getCaseStatus?case=\(number)&agent=beeline", client)
            let status = try JSONDecoder().decode(Status.self, from: Data(text.utf8))
            #expect(status.behavior != "FAILED", "case \(number)")
        }
        // The server writes its report now.
        try await Self.echo("\(server)/updateReports?agent=beeline", client)
        await client.shutDown()
    }

    private static func text(_ url: String, _ client: BeelineClient) async throws -> String {
        let socket = try await client.webSocket(url)
        let message = try await socket.receive()
        await socket.close()
        guard case .text(let text)? = message else { return "" }
        return text
    }

    private static func echo(_ url: String, _ client: BeelineClient) async throws {
        let socket = try await client.webSocket(url)
        for try await message in socket.messages { try await socket.send(message) }
    }
}
