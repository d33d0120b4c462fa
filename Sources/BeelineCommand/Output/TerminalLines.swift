// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NIOConcurrencyHelpers

/// Lines for a terminal, written on a thread of their own: their reader may stand still, and keeps no task from ending. Lines
/// that find no room are dropped.
final class TerminalLines: Sendable {
    /// Lines that may wait.
    private static let capacity = 1_000

    private let terminal: Terminal
    private let queue = DispatchQueue(label: "beeline.lines")
    private let waiting = NIOLockedValueBox(0)

    init(_ terminal: Terminal) { self.terminal = terminal }

    func add(_ line: String) {
        let hasRoom = waiting.withLockedValue { waiting in
            guard waiting < Self.capacity else { return false }
            waiting += 1
            return true
        }
        guard hasRoom else { return }
        queue.async { [self] in
            terminal.writeLine(line)
            waiting.withLockedValue { $0 -= 1 }
        }
    }

    /// Returns when all lines are written, or after a while where their reader stands still.
    func finish(within limit: DispatchTimeInterval = .seconds(1)) async { await queue.finish(within: limit) }
}

extension DispatchQueue {
    /// Returns when all that was given to this queue, and then `body`, has been done, or after a while.
    func finish(within limit: DispatchTimeInterval, _ body: @escaping @Sendable () -> Void = {}) async {
        await withCheckedContinuation { continuation in
            let isOver = NIOLockedValueBox(false)
            let resume = { @Sendable () -> Void in
                let wasOver = isOver.withLockedValue { isOver in
                    defer { isOver = true }
                    return isOver
                }
                if !wasOver { continuation.resume() }
            }
            self.async {
                body()
                resume()
            }
            DispatchQueue.global().asyncAfter(deadline: .now() + limit, execute: resume)
        }
    }
}
