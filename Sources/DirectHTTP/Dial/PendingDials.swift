// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// The questions for endpoints and the dials that are under way. They belong to no connection yet, and end with their engine.
final class PendingDials: Sendable {
    private struct State {
        var isShutDown = false
        var nextID = 0
        var cancels: [Int: @Sendable () -> Void] = [:]
    }

    /// Guards what is under way; cancelled outside of it.
    private let state = NIOLockedValueBox(State())

    /// Whether the engine was shut down.
    var isShutDown: Bool { state.withLockedValue(\.isShutDown) }

    /// Takes what cancels a question or a dial. Returns its number for ``remove(_:)``; nil where the engine was shut down.
    func add(_ cancel: @escaping @Sendable () -> Void) -> Int? {
        state.withLockedValue { state in
            guard !state.isShutDown else { return nil }
            state.nextID &+= 1
            state.cancels[state.nextID] = cancel
            return state.nextID
        }
    }

    /// It is over.
    func remove(_ id: Int) { state.withLockedValue { $0.cancels[id] = nil } }

    /// Cancels all of them, and refuses what comes after.
    func shutDown() {
        let cancels = state.withLockedValue { state in
            state.isShutDown = true
            defer { state.cancels = [:] }
            return Array(state.cancels.values)
        }
        for cancel in cancels { cancel() }
    }
}
