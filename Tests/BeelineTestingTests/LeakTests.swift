// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct LeakTests {
    @Test(arguments: ["127.0.0.1", "::1"])
    func aSocketThatIsLeftOpenIsALeak(address: String) async throws {
        let server = try await RawServer.start(addresses: [address]) { try await $0.hold() }
        var left: RawConnection?
        do {
            try await expectNoLeak(to: server.endpoints, within: .milliseconds(50)) {
                left = try await RawConnection.connect(to: server.endpoint)
            }
            Issue.record("the leak was not seen")
        } catch let error as TestingError {
            #expect(error.code == .leaked && error.message.contains(": 0 before, 1 after"))
        }
        #expect(OpenDescriptors.sockets(connectedTo: server.endpoints) == 1)
        await left?.close()
        try await expectNoLeak(to: server.endpoints) {
            await (try RawConnection.connect(to: server.endpoint)).close()
        }
        await server.stop()
    }

    @Test func aProcessHasDescriptors() {
        #expect(OpenDescriptors.count() >= 3)
        #if os(Linux)
        let usage = ProcessUsage.now
        #expect((usage.threads ?? 0) >= 1 && (usage.residentBytes ?? 0) > 1 << 20)
        #endif
    }
}
