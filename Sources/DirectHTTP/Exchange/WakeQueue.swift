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

    /// The tasks to be resumed at the end of this turn. An object: a list that is taken out of its box to be changed is copied.
    private final class Due {
        var wakes: [Wake] = []
    }

    private let due: NIOLoopBoundBox<Due>

    init(_ loop: any EventLoop) {
        due = .makeBoxSendingValue(Due(), eventLoop: loop)
    }

    /// Resumes it at the end of this turn; on the loop.
    func append(_ wake: Wake) {
        let due = due.value
        due.wakes.append(wake)
        guard due.wakes.count == 1 else { return }
        self.due.eventLoop.execute { [self] in
            let due = self.due.value
            if due.wakes.count == 1 { return due.wakes.removeLast().resume() }
            let all = due.wakes
            due.wakes = []
            // Each of them resumed from here would have its thread woken anew, which it leaves again before the next is resumed.
            Task.detached { for wake in all { wake.resume() } }
        }
    }
}
