// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// A clock that only the test moves.
final class HandClock: Clock, Sendable {
    struct Instant: InstantProtocol {
        var offset: Duration
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (one: Instant, other: Instant) -> Bool { one.offset < other.offset }
    }

    private struct Sleeper {
        var until: Instant
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Instant(offset: .zero)
        var nextID = 0
        var sleepers: [Int: Sleeper] = [:]
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = NIOLockedValueBox(State())

    var now: Instant { state.withLockedValue { $0.now } }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = state.withLockedValue { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let (isOver, watchers) = state.withLockedValue { state in
                    if deadline <= state.now { return (true, [CheckedContinuation<Void, Never>]()) }
                    state.sleepers[id] = Sleeper(until: deadline, continuation: continuation)
                    let ready = state.watchers.filter { $0.count <= state.sleepers.count }.map(\.continuation)
                    state.watchers.removeAll { $0.count <= state.sleepers.count }
                    return (false, ready)
                }
                if isOver { continuation.resume() }
                for watcher in watchers { watcher.resume() }
                if Task.isCancelled { cancel(id) }
            }
        } onCancel: {
            cancel(id)
        }
    }

    private func cancel(_ id: Int) {
        let sleeper = state.withLockedValue { $0.sleepers.removeValue(forKey: id) }
        sleeper?.continuation.resume(throwing: CancellationError())
    }

    /// Moves the time forward and wakes whoever slept until then.
    func advance(by duration: Duration) {
        let due = state.withLockedValue { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.until <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.sorted { $0.until < $1.until }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// When the first sleeper wakes.
    var nextDeadline: Duration? { state.withLockedValue { $0.sleepers.values.map(\.until.offset).min() } }

    /// Returns when somebody sleeps.
    func someoneSleeps() async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLockedValue { state in
                guard state.sleepers.isEmpty else { return true }
                state.watchers.append((1, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
    }
}
