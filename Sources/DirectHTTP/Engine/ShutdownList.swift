// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// Values that a shutdown of the engine must end. After the shutdown, none can be added.
final class ShutdownList<Value: Sendable>: Sendable {
    private struct State {
        var isShutDown = false
        var nextID = 0
        var values: [Int: Value] = [:]
    }

    /// Guards the values. They are ended outside the lock.
    private let state = NIOLockedValueBox(State())

    var isShutDown: Bool { state.withLockedValue(\.isShutDown) }
    var count: Int { state.withLockedValue { $0.values.count } }

    /// Returns a number for ``remove(_:)``; nil if the engine was shut down.
    func add(_ value: Value) -> Int? {
        state.withLockedValue { state in
            guard !state.isShutDown else { return nil }
            state.nextID &+= 1
            state.values[state.nextID] = value
            return state.nextID
        }
    }

    /// Removes a value that has ended.
    func remove(_ id: Int) { state.withLockedValue { $0.values[id] = nil } }

    /// Refuses new values. Returns those that have not ended, so that the caller ends them.
    func shutDown() -> [Value] {
        state.withLockedValue { state in
            state.isShutDown = true
            return Array(state.values.values)
        }
    }
}

/// The closures that cancel the resolutions and dials in progress. These belong to no connection yet.
typealias PendingDials = ShutdownList<@Sendable () -> Void>
