// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix

/// Delays a request's body for `Expect: 100-continue` (RFC 9110 §10.1.1). `100 Continue` opens the gate, and so does a timeout,
/// because old servers never send it. A response that is complete, or that refuses or redirects the request, closes the gate
/// permanently. A server that has only begun a 2xx response may still read the body.
final class ContinueGate: Sendable {
    private let decision = OneShot<Bool>()

    /// Whether the body is not sent and not read, because the response has come without it.
    var isRefused: Bool { if case .success(false)? = decision.result { true } else { false } }

    /// Whether a task waits for the decision. For tests.
    var isAwaited: Bool { decision.isAwaited }

    /// Allows the body to be sent.
    func open() { decision.resolve(.success(true)) }

    /// Forbids sending the body, because the response needs none. Returns whether this call made the decision.
    @discardableResult
    func refuse() -> Bool { decision.resolve(.success(false)) }

    /// Waits for the decision. Returns false if the server does not want the body or the task was cancelled.
    func mayPass(within limit: Duration) async -> Bool {
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let timer = loop.scheduleTask(in: TimeAmount(limit: limit)) { self.open() }
        defer { timer.cancel() }
        return (try? await decision.value(orCancelled: "the body was not sent")) ?? false
    }
}
