// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import NIOConcurrencyHelpers
import Testing

@Suite(.timeLimit(.minutes(1))) struct ScriptedUpstreamTests {
    @Test func aClosureThatReadsItsOwnUpstreamDoesNotWaitForItself() async throws {
        let itself = NIOLockedValueBox<ScriptedUpstream?>(nil)
        let upstream = ScriptedUpstream("fails twice") { _ in
            let asked = itself.withLockedValue { $0 }?.questions.count ?? 0
            return asked < 3 ? .fail(UpstreamError(.unreachable, "no")) : .answer(v4("192.0.2.1"))
        }
        itself.withLockedValue { $0 = upstream }
        defer { itself.withLockedValue { $0 = nil } }
        for _ in 0..<2 {
            await #expect(throws: UpstreamError.self) { try await upstream.answer(Question(host("a.test"))) }
        }
        #expect(try await upstream.answer(Question(host("a.test"))) == v4("192.0.2.1"))
    }
}
