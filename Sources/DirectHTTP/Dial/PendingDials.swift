// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// The resolutions and dials in progress. They belong to no connection yet, and shutting down the engine cancels them.
final class PendingDials: Sendable {
    private struct State {
        var isShutDown = false
        var nextID = 0
        var cancels: [Int: @Sendable () -> Void] = [:]
    }

    /// Guards the operations in progress. They are cancelled outside the lock.
    private let state = NIOLockedValueBox(State())

    var isShutDown: Bool { state.withLockedValue(\.isShutDown) }

    /// Registers a closure that cancels an operation. Returns its number; nil if the engine was shut down.
    func add(_ cancel: @escaping @Sendable () -> Void) -> Int? {
        state.withLockedValue { state in
            guard !state.isShutDown else { return nil }
            state.nextID &+= 1
            state.cancels[state.nextID] = cancel
            return state.nextID
        }
    }

    /// Removes an operation that has ended.
    func remove(_ id: Int) { state.withLockedValue { $0.cancels[id] = nil } }

    /// Cancels all operations and refuses new ones.
    func shutDown() {
        let cancels = state.withLockedValue { state in
            state.isShutDown = true
            defer { state.cancels = [:] }
            return Array(state.cancels.values)
        }
        for cancel in cancels { cancel() }
    }
}
