// SPDX-License-Identifier: Apache-2.0

import LibC
import NIOConcurrencyHelpers

/// Receives SIGHUP, which reloads the server's files. A signal that arrives before the server runs is not lost and does
/// not end the command, because systemd may send it directly after the start.
final class ReloadSignal: Sendable {
    private struct State {
        var action: (@Sendable () -> Void)?
        var hasArrived = false
    }

    private let state = NIOLockedValueBox(State())
    /// Not a signal source of Dispatch, which loses signals until it is registered. Any thread may use it, but its type does not
    /// declare that.
    private nonisolated(unsafe) let signals: ReceivedSignals

    /// - Throws: ``CommandFailure`` if the process has no descriptors left.
    init() throws(CommandFailure) {
        do throws(FileDescriptor.Failure) {
            signals = try ReceivedSignals([SIGHUP]) { [state] _, _ in
                let action = state.withLockedValue { state in
                    state.hasArrived = state.action == nil
                    return state.action
                }
                action?()
            }
        } catch {
            throw CommandFailure(.internalFault, "the signal SIGHUP cannot be received: \(error)")
        }
    }

    /// Runs the action for each signal from now on, and for a signal that has already arrived.
    func onArrival(_ action: @escaping @Sendable () -> Void) {
        let hasArrived = state.withLockedValue { state in
            state.action = action
            return state.hasArrived
        }
        if hasArrived { action() }
    }

    /// Ignores the signal from now on.
    func cancel() { onArrival {} }
}
