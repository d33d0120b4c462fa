// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Testing

@Suite("A polled condition", .timeLimit(.minutes(1)))
struct EventuallyTests {
    @Test("a condition that never holds ends the wait at its limit")
    func neverHolds() async throws {
        let error = await #expect(throws: TestingError.self) {
            try await eventually("a sign", within: .milliseconds(20)) { false }
        }
        #expect(error?.code == .timedOut && error?.message.contains("a sign") == true)
    }

    @Test("a condition is asked again until it holds, and its error ends the wait")
    func holds() async throws {
        var asked = 0
        try await eventually("the third call") {
            asked += 1
            return asked == 3
        }
        #expect(asked == 3)
        await #expect(throws: TestingError(.badInput, "no")) {
            try await eventually("an error") { throw TestingError(.badInput, "no") }
        }
    }

    @Test("a value is asked for until there is one")
    func value() async throws {
        var asked = 0
        let third = try await eventualValue("the third call") {
            asked += 1
            return asked == 3 ? "three" : nil
        }
        #expect(third == "three" && asked == 3)
    }

    @Test("a cancelled task does not wait for the limit")
    func cancelled() async throws {
        let begun = Gate()
        let waiting = Task {
            try await eventually("nothing", within: .seconds(3_600)) {
                begun.open()
                return false
            }
        }
        try await begun.wait()
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }
}
