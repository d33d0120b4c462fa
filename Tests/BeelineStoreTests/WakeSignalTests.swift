// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Testing

@Suite("The signal that wakes a writer", .timeLimit(.minutes(1)))
struct WakeSignalTests {
    @Test("a second wait ends the first one, and a signal ends the second")
    func secondWait() async {
        let signal = WakeSignal()
        await withTaskGroup(of: Void.self) { group in
            let clock = ContinuousClock()
            for _ in 0..<2 { group.addTask { await signal.wait(until: clock.now + .seconds(3_600), clock: clock) } }
            await group.next()
            signal.signal()
            await group.next()
        }
    }

    @Test("a signal before the wait ends it, and a cancelled wait keeps the signal")
    func kept() async {
        let signal = WakeSignal()
        let clock = ContinuousClock()
        signal.signal()
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await signal.wait(until: clock.now + .seconds(3_600), clock: clock)
        }
        await cancelled.value
        await signal.wait(until: clock.now + .seconds(3_600), clock: clock)
    }
}
