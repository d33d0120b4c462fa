// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// A clock that stands still until a test moves it.
///
/// ```swift
/// let clock = ManualClock()
/// async let result = dial(clock: clock)           // sleeps 250 ms by the clock between two attempts
/// try await clock.sleepers(atLeast: 1)            // it sleeps now
/// clock.advance(by: .milliseconds(250))           // and wakes
/// ```
///
/// Sleepers wake in the order of their deadlines. A sleeper ends at once with `CancellationError` when its task is
/// cancelled.
public final class ManualClock: Clock {
    /// A point in the clock's time.
    public struct Instant: InstantProtocol, CustomStringConvertible {
        /// The time since the clock's start.
        public let sinceStart: Duration

        /// The start, from which instants are counted.
        public static let start = Instant(sinceStart: .zero)

        /// The instant that is later by `duration` (earlier, where it is negative).
        public func advanced(by duration: Duration) -> Instant {
            Instant(sinceStart: sinceStart + duration)
        }

        /// How long it is from this instant until `other`: positive where `other` is later.
        public func duration(to other: Instant) -> Duration {
            other.sinceStart - sinceStart
        }

        /// Whether `left` is earlier.
        public static func < (left: Instant, right: Instant) -> Bool {
            left.sinceStart < right.sinceStart
        }

        /// The time since the start.
        public var description: String { "\(sinceStart)" }
    }

    private struct Sleeper: Sendable {
        let deadline: Instant
        let order: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State: Sendable {
        var now = Instant.start
        var sleepers: [Int: Sleeper] = [:]
        var slept = 0
    }

    private let state = Watched(State())
    private let limit: Int

    /// A clock at ``Instant/start``.
    ///
    /// - Parameter sleeperLimit: how many may sleep at once; one more gets a ``TestingError``.
    public init(sleeperLimit: Int = 10_000) {
        limit = sleeperLimit
    }

    /// Where the clock stands.
    public var now: Instant { state.value.now }

    /// The finest step; a manual clock can do any.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// How many sleep now.
    public var sleeperCount: Int { state.value.sleepers.count }

    /// The earliest deadline of those who sleep; nil where nobody does.
    public var nextDeadline: Instant? { state.value.sleepers.values.map(\.deadline).min() }

    /// Sleeps until a test has moved the clock to the deadline. A deadline that has passed returns at once.
    ///
    /// - Parameter tolerance: ignored; sleepers wake exactly.
    /// - Parameter deadline: when to wake.
    /// - Throws: `CancellationError`, or ``TestingError`` when too many sleep.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let id = state.update { state in
            state.slept += 1
            return state.slept
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let now: Result<Void, any Error>? = state.update { state in
                    // A cancellation that came before this point found no sleeper to end.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if deadline <= state.now { return .success(()) }
                    guard state.sleepers.count < limit else {
                        return .failure(TestingError(.unscripted, "more than \(limit) sleepers on a manual clock"))
                    }
                    state.sleepers[id] = Sleeper(deadline: deadline, order: id, continuation: continuation)
                    return nil
                }
                if let now { continuation.resume(with: now) }
            }
        } onCancel: {
            let sleeper = state.update { $0.sleepers.removeValue(forKey: id) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Moves the clock on and wakes those whose deadline has come. A negative duration moves nothing.
    ///
    /// What they do next runs after this returns: before moving on, wait for its sign, such as `sleepers(atLeast:)`.
    public func advance(by duration: Duration) {
        advance(to: now.advanced(by: duration))
    }

    /// Moves the clock to an instant; back it does not go.
    public func advance(to instant: Instant) {
        let woken = state.update { state in
            state.now = max(state.now, instant)
            let due = state.sleepers.values.filter { $0.deadline <= state.now }
            for sleeper in due { state.sleepers[sleeper.order] = nil }
            return due.sorted { ($0.deadline, $0.order) < ($1.deadline, $1.order) }
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }

    /// Returns when at least `count` sleep.
    ///
    /// - Parameter limit: how long to wait, in real time.
    /// - Parameter count: how many sleepers are waited for.
    /// - Throws: ``TestingError`` with code `timedOut`.
    public func sleepers(atLeast count: Int, within limit: Duration = .seconds(10)) async throws {
        try await sleepers(within: limit) { $0 >= count }
    }

    /// Returns when the number of those who sleep fulfils `condition`, such as `{ $0 == 0 }`.
    ///
    /// - Throws: ``TestingError`` with code `timedOut`.
    public func sleepers(
        within limit: Duration = .seconds(10),
        until condition: @escaping @Sendable (Int) -> Bool
    ) async throws {
        try await withTimeLimit(limit, { "sleepers of a manual clock; there are \(self.sleeperCount)" }) { [state] in
            _ = try await state.wait { condition($0.sleepers.count) }
        }
    }
}
