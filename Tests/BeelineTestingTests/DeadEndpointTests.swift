// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import NIOCore
import Names
import Testing

@Suite(.timeLimit(.minutes(1))) struct DeadEndpointTests {
    @Test(arguments: ["127.0.0.1", "127.1.2.3", "::1"])
    func aRefusedEndpointRefusesAtOnce(address: String) async throws {
        let dead = try RefusedEndpoint(address: address)
        #expect(dead.endpoint.port > 0)
        // A timeout would be a different error.
        await #expect { try await RawConnection.connect(to: dead.endpoint) } throws: { "\($0)".contains("refused") }
        // The port is taken, so no server can listen on it.
        await #expect(throws: TestingError.self) {
            _ = try await RawServer.start(addresses: [address], port: dead.endpoint.port) { _ in }
        }
        dead.close()
    }

    @Test(arguments: ["127.0.0.1", "::1"])
    func aBlackHoleAnswersNothing(address: String) async throws {
        let hole = try BlackHole(address: address)
        for _ in 0..<3 {
            await #expect {
                try await RawConnection.connect(to: hole.endpoint, within: .milliseconds(50))
            } throws: { error in
                if case .connectTimeout? = error as? ChannelError { return true }
                return "\(error)".contains("connectTimeout")
            }
        }
        hole.close()
        await #expect(throws: (any Error).self) { try await RawConnection.connect(to: hole.endpoint) }
    }

    @Test func deadEndpointsAreOnLoopbackOnly() {
        #expect(throws: TestingError.self) { try RefusedEndpoint(address: "0.0.0.0") }
        #expect(throws: TestingError.self) { try BlackHole(address: "192.0.2.1") }
    }
}
