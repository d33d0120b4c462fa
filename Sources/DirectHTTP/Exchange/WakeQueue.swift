// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Resumes the tasks that one turn of an event loop has news for, all of them at its end.
///
/// A task that is resumed elsewhere wakes a thread. Woken for each response as it is read, that thread finds one task, runs it and
/// falls asleep before the next; woken at the end, it finds them all.
final class WakeQueue: Sendable {
    /// A task that waits, and what it waits for.
    enum Wake: Sendable {
        case head(UnsafeContinuation<Exchange.HeadResult, Never>, Exchange.HeadResult)
        case piece(UnsafeContinuation<Exchange.PieceResult, Never>, Exchange.PieceResult)

        func resume() {
            switch self {
            case .head(let waiter, let result): waiter.resume(returning: result)
            case .piece(let waiter, let result): waiter.resume(returning: result)
            }
        }
    }

    private let wakes: NIOLoopBoundBox<[Wake]>

    init(_ loop: any EventLoop) {
        wakes = .makeBoxSendingValue([], eventLoop: loop)
    }

    /// Resumes it at the end of this turn; on the loop.
    func append(_ wake: Wake) {
        wakes.value.append(wake)
        guard wakes.value.count == 1 else { return }
        wakes.eventLoop.execute { [wakes] in
            let due = wakes.value
            wakes.value = []
            if due.count == 1 { return due[0].resume() }
            // Each of them resumed from here would have its thread woken anew, which it leaves again before the next is resumed.
            Task.detached { for wake in due { wake.resume() } }
        }
    }
}
