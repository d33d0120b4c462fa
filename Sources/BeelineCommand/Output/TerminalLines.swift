// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NIOConcurrencyHelpers

/// Writes lines to a terminal on its own thread, so that a blocked reader does not block tasks. Lines beyond the capacity are
/// dropped.
final class TerminalLines: Sendable {
    /// The maximum number of queued lines.
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

    /// Returns when all lines are written, or after `limit` if the reader is blocked.
    func finish(within limit: DispatchTimeInterval = .seconds(1)) async { await queue.finish(within: limit) }
}

extension DispatchQueue {
    /// Returns when the queue's earlier work and then `body` have run, or after `limit`.
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
