// SPDX-License-Identifier: Apache-2.0

#if Redis
import CookieJar
import NIOConcurrencyHelpers

/// The progress of a shared jar's reads and writes. Callers can wait for a change of it.
final class JarProgress: Sendable {
    /// The work of one connection.
    enum Direction: Hashable, Sendable {
        case reading, writing
    }

    /// Changes whose versions were too far in the future when they were read.
    struct FutureChanges: Sendable {
        /// The lowest of the versions.
        var version: Int64
        /// The clock when the first of the changes was read.
        let clock: CookieTime
        /// The moment when the first of the changes was read.
        let moment = ContinuousClock.now

        /// Whether the clock was set forward since then, by more than a minute. A clock that runs is not set.
        func isClockSet(to now: CookieTime) -> Bool {
            clock.advanced(bySeconds: moment.duration(to: .now).components.seconds + 60) < now
        }
    }

    struct Values: Sendable {
        /// Whether the whole jar of the server was read, and the connection that follows its changes is open.
        var isCurrent = false
        /// The serial number of the last change that was read.
        var serial: Int64 = 0
        /// How often the whole jar was read.
        var surveys = 0
        /// The number of records that could not be read in the last survey, and since.
        var unreadable = 0
        /// Those among them whose versions are in the future.
        var future: FutureChanges?
        /// Whether some of them are encrypted, and this process has no key.
        var isEncrypted = false
        /// Why the server cannot be used. Each direction removes its own reason when it works again.
        var failures: [Direction: String] = [:]
        /// One of ``failures``; nil if there are none.
        var failure: String? { failures[.reading] ?? failures[.writing] }
        /// Whether there were too many changes to track, and the whole jar has not been compared since.
        var hasOverrun = false
        /// The number of logins that run, or wait for another.
        var logins = 0
        var isClosed = false
    }

    private struct State {
        var values = Values()
        /// One for each caller that waits. It keeps a signal, so that a caller misses no change between its check and its
        /// wait.
        var waiters: [ObjectIdentifier: WakeSignal] = [:]
        /// The reasons and problems that were reported since the server worked.
        var reported: Set<String> = []
    }

    /// The maximum number of texts to report, because the server may choose them.
    private static let maxReported = 8
    private let state = NIOLockedValueBox(State())

    var values: Values { state.withLockedValue { $0.values } }

    /// Changes the values and wakes all waiters.
    func update(_ change: (inout Values) -> Void) {
        let waiters = state.withLockedValue { state in
            change(&state.values)
            return state.waiters
        }
        for waiter in waiters.values { waiter.signal() }
    }

    /// Whether a text should be reported: it is new since ``forgetReports()``.
    func isNew(_ text: String) -> Bool {
        state.withLockedValue { $0.reported.count < Self.maxReported && $0.reported.insert(text).inserted }
    }

    /// Allows reports of the same texts again, unless the values still have a problem.
    func forgetReports(unless hasProblem: (Values) -> Bool) {
        state.withLockedValue { if !hasProblem($0.values) { $0.reported = [] } }
    }

    /// Waits until a condition holds. False at the deadline and on cancellation.
    func wait(until deadline: ContinuousClock.Instant, _ isMet: @Sendable (Values) -> Bool) async -> Bool {
        let waiter = WakeSignal()
        state.withLockedValue { $0.waiters[ObjectIdentifier(waiter)] = waiter }
        defer { state.withLockedValue { $0.waiters[ObjectIdentifier(waiter)] = nil } }
        while !isMet(values) {
            guard !Task.isCancelled, ContinuousClock.now < deadline else { return false }
            await waiter.wait(until: deadline, clock: ContinuousClock())
        }
        return true
    }
}
#endif
