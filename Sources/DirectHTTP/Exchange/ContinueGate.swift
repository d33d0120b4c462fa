// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Holds a body back until the server wants it (RFC 9110 §10.1.1): `100 Continue` opens the gate, and so does the end of the
/// client's patience, since old servers never say it; a final response shuts it for good.
final class ContinueGate: Sendable {
    private enum State {
        case shut(UnsafeContinuation<Bool, Never>?)
        case decided(Bool)
    }

    /// Guards who waits and what was decided.
    private let state = NIOLockedValueBox(State.shut(nil))

    /// Lets the body pass.
    func open() { _ = decide(true) }

    /// Lets it pass never: the answer is there without it. Returns whether that decided it: the body is not sent.
    @discardableResult
    func refuse() -> Bool { decide(false) }

    /// Waits for the decision. False: the body is not wanted, or nobody waits for the answer any more.
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

    /// Returns false where it was decided before.
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
