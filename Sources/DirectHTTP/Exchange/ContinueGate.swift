// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Delays a request's body for `Expect: 100-continue` (RFC 9110 §10.1.1). `100 Continue` opens the gate, and so does a timeout,
/// because old servers never send it. A final response closes the gate permanently.
final class ContinueGate: Sendable {
    private enum State {
        case shut(UnsafeContinuation<Bool, Never>?)
        case decided(Bool)
    }

    /// Guards the waiter and the decision.
    private let state = NIOLockedValueBox(State.shut(nil))

    /// Allows the body to be sent.
    func open() { _ = decide(true) }

    /// Forbids sending the body, because the response has come without it. Returns whether this call made the decision.
    @discardableResult
    func refuse() -> Bool { decide(false) }

    /// Waits for the decision. Returns false if the server does not want the body or the task was cancelled.
    func mayPass(within limit: Duration) async -> Bool {
        let timer = MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: TimeAmount(limit)) { self.open() }
        defer { timer.cancel() }
        return await waitCancellably { waiter in
            let decision = state.withLockedValue { state -> Bool? in
                if case .decided(let decision) = state { return decision }
                state = .shut(waiter)
                return nil
            }
            if let decision { waiter.resume(returning: decision) }
        } onCancel: {
            refuse()
        }
    }

    /// Returns false if the decision was already made.
    private func decide(_ decision: Bool) -> Bool {
        let (isFirst, waiter) = state.withLockedValue { state -> (Bool, UnsafeContinuation<Bool, Never>?) in
            guard case .shut(let waiter) = state else { return (false, nil) }
            state = .decided(decision)
            return (true, waiter)
        }
        waiter?.resume(returning: decision)
        return isFirst
    }
}
