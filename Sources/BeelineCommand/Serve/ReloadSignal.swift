// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NIOConcurrencyHelpers

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Receives SIGHUP, which reloads the server's files. A signal that arrives before the server runs is not lost and does
/// not end the command, because systemd may send it directly after the start.
final class ReloadSignal: Sendable {
    private struct State {
        var action: (@Sendable () -> Void)?
        var hasArrived = false
    }

    private let state = NIOLockedValueBox(State())
    /// Any thread may use a Dispatch source, but on Linux its type does not declare that.
    private nonisolated(unsafe) let source: any DispatchSourceSignal

    init() {
        signal(SIGHUP, SIG_IGN)
        source = DispatchSource.makeSignalSource(signal: SIGHUP, queue: .global())
        source.setEventHandler { [state] in
            let action = state.withLockedValue { state in
                state.hasArrived = state.action == nil
                return state.action
            }
            action?()
        }
        source.resume()
    }

    /// Runs the action for each signal from now on, and for a signal that has already arrived.
    func onArrival(_ action: @escaping @Sendable () -> Void) {
        let hasArrived = state.withLockedValue { state in
            state.action = action
            return state.hasArrived
        }
        if hasArrived { action() }
    }

    func cancel() { source.cancel() }
}
