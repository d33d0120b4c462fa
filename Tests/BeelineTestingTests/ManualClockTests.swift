// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct ManualClockTests {
    let clock = ManualClock()

    @Test func durationToALaterInstantIsPositive() {
        let start = clock.now
        clock.advance(by: .seconds(3))
        #expect(start.duration(to: clock.now) == .seconds(3))
        #expect(clock.now.duration(to: start) == .seconds(-3))
        #expect(start < clock.now && start.advanced(by: .seconds(3)) == clock.now)
        // The standard library's clock has the same sign.
        let real = ContinuousClock.now
        #expect(real.duration(to: real.advanced(by: .seconds(3))) == .seconds(3))
    }

    @Test func theClockDoesNotGoBack() {
        clock.advance(by: .seconds(3))
        clock.advance(by: .seconds(-1))
        clock.advance(to: .start)
        #expect(clock.now.sinceStart == .seconds(3))
    }

    @Test func advancesOfSeveralTasksAddUp() async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { [clock] in
                    for _ in 0..<10_000 { clock.advance(by: .seconds(1)) }
                }
            }
        }
        #expect(clock.now.sinceStart == .seconds(40_000))
    }

    @Test func aSleeperWakesAtItsDeadlineAndNotBefore() async throws {
        let task = Task { [clock] in
            try await clock.sleep(for: .milliseconds(250))
            return clock.now.sinceStart
        }
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .milliseconds(249))
        #expect(clock.sleeperCount == 1)
        #expect(clock.nextDeadline?.sinceStart == .milliseconds(250))
        clock.advance(by: .milliseconds(1))
        #expect(clock.sleeperCount == 0)
        #expect(try await task.value == .milliseconds(250))
    }

    @Test func aDeadlineThatHasPassedReturnsAtOnce() async throws {
        clock.advance(by: .seconds(1))
        try await clock.sleep(until: .start)
        try await clock.sleep(for: .zero)
    }

    @Test func aCancelledSleeperLeavesAtOnce() async throws {
        let task = Task { [clock] in try await clock.sleep(for: .seconds(1)) }
        try await clock.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await clock.sleepers { $0 == 0 }
    }

    @Test func aTaskThatIsAlreadyCancelledDoesNotSleep() async throws {
        let gate = Gate()
        let task = Task { [clock] in
            _ = try? await gate.wait()
            try await clock.sleep(for: .seconds(1))
        }
        try await gate.arrivals(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test func sleepersAreBounded() async throws {
        let clock = ManualClock(sleeperLimit: 1)
        let task = Task { try await clock.sleep(for: .seconds(1)) }
        try await clock.sleepers(atLeast: 1)
        await #expect(throws: TestingError.self) { try await clock.sleep(for: .seconds(1)) }
        clock.advance(by: .seconds(1))
        try await task.value
    }

    @Test func aWaitForSleepersThatNeverComeEnds() async {
        await #expect(throws: TestingError.self) {
            try await clock.sleepers(atLeast: 1, within: .milliseconds(10))
        }
    }
}
