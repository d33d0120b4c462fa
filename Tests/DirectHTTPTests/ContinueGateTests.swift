// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Testing

@testable import DirectHTTP

@Suite("The gate for Expect: 100-continue", .timeLimit(.minutes(1)))
struct ContinueGateTests {
    @Test("the first decision counts, before the wait and during it")
    func decisions() async {
        let open = ContinueGate()
        open.open()
        open.refuse()
        #expect(await open.mayPass(within: .seconds(600)))
        let refused = ContinueGate()
        refused.refuse()
        refused.open()
        #expect(await !refused.mayPass(within: .seconds(600)))
        #expect(refused.isRefused && !open.isRefused)
        let gate = ContinueGate()
        async let waiting = gate.mayPass(within: .seconds(600))
        gate.open()
        #expect(await waiting)
    }

    @Test("the body is sent when the wait for 100 Continue times out")
    func patience() async {
        #expect(await ContinueGate().mayPass(within: .milliseconds(5)))
    }

    @Test("a cancelled wait does not send the body")
    func cancelled() async throws {
        let gate = ContinueGate()
        let task = Task { await gate.mayPass(within: .seconds(600)) }
        try await eventually("the wait") { gate.isAwaited }
        task.cancel()
        #expect(await !task.value)
    }
}
