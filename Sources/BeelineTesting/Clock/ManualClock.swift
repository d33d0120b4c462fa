// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// A clock that moves only when a test advances it.
///
/// ```swift
/// let clock = ManualClock()
/// async let result = dial(clock: clock)           // sleeps 250 ms on the clock between two attempts
/// try await clock.sleepers(atLeast: 1)            // the dial is sleeping
/// clock.advance(by: .milliseconds(250))           // the dial wakes up
/// ```
///
/// Sleepers wake in the order of their deadlines. If a sleeper's task is cancelled, its sleep throws `CancellationError` at
/// once.
public final class ManualClock: Clock {
    /// A point in the clock's time.
    public struct Instant: InstantProtocol, CustomStringConvertible {
        /// The time since the clock's start.
        public let sinceStart: Duration

        /// The start of the clock, which instants are relative to.
        public static let start = Instant(sinceStart: .zero)

        /// The instant `duration` later, or earlier if `duration` is negative.
        public func advanced(by duration: Duration) -> Instant {
            Instant(sinceStart: sinceStart + duration)
        }

        /// The duration from this instant to `other`; positive if `other` is later.
        public func duration(to other: Instant) -> Duration {
            other.sinceStart - sinceStart
        }

        /// Whether `left` is earlier than `right`.
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

    /// Creates a clock at ``Instant/start``.
    ///
    /// - Parameter sleeperLimit: The maximum number of concurrent sleepers. One more throws a ``TestingError``. Default 10,000.
    public init(sleeperLimit: Int = 10_000) {
        limit = sleeperLimit
    }

    /// The current instant.
    public var now: Instant { state.value.now }

    /// One nanosecond. The clock itself accepts any step.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// The number of current sleepers.
    package var sleeperCount: Int { state.value.sleepers.count }

    /// The earliest deadline of the current sleepers; nil if there are none.
    package var nextDeadline: Instant? { state.value.sleepers.values.map(\.deadline).min() }

    /// Sleeps until a test advances the clock to the deadline. Returns at once if the deadline has passed.
    ///
    /// - Parameter tolerance: Ignored; sleepers wake at the deadline.
    /// - Parameter deadline: The instant to wake at.
    /// - Throws: `CancellationError`, or ``TestingError`` if there are too many sleepers.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let id = state.update { state in
            state.slept += 1
            return state.slept
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let now: Result<Void, any Error>? = state.update { state in
                    // Cancellation may have arrived before the sleeper was registered; check again.
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

    /// Advances the clock and wakes the sleepers whose deadline has passed. A negative duration has no effect.
    ///
    /// The woken tasks run after this returns. Before the next advance, wait for a sign of them, such as `sleepers(atLeast:)`.
    public func advance(by duration: Duration) {
        move { $0.advanced(by: duration) }
    }

    /// Advances the clock to an instant. An earlier instant has no effect on the time.
    public func advance(to instant: Instant) {
        move { _ in instant }
    }

    /// One update of the state, so that tasks may advance the clock at the same time.
    private func move(to target: (Instant) -> Instant) {
        let woken = state.update { state in
            state.now = max(state.now, target(state.now))
            let due = state.sleepers.values.filter { $0.deadline <= state.now }
            for sleeper in due { state.sleepers[sleeper.order] = nil }
            return due.sorted { ($0.deadline, $0.order) < ($1.deadline, $1.order) }
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }

    /// Waits until there are at least `count` sleepers.
    ///
    /// - Parameter limit: The maximum wait, in real time.
    /// - Parameter count: The number of sleepers.
    /// - Throws: ``TestingError`` with code `timedOut`.
    public func sleepers(atLeast count: Int, within limit: Duration = .seconds(10)) async throws {
        try await sleepers(within: limit) { $0 >= count }
    }

    /// Waits until the number of sleepers fulfils `condition`, such as `{ $0 == 0 }`.
    ///
    /// - Throws: ``TestingError`` with code `timedOut`.
    package func sleepers(
        within limit: Duration = .seconds(10),
        until condition: @escaping @Sendable (Int) -> Bool
    ) async throws {
        try await withTimeLimit(limit, for: { "sleepers of a manual clock; there are \(self.sleeperCount)" }) {
            [state] in
            _ = try await state.wait { condition($0.sleepers.count) }
        }
    }
}
