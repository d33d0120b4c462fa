// SPDX-License-Identifier: Apache-2.0

import Beeline

/// Draws a ``ProgressBar`` on standard error while a file is downloaded; only where a person sits before it.
struct ProgressDisplay {
    private var bar: ProgressBar
    private let begin = ContinuousClock.now

    /// Nil where no bar is to be drawn.
    init?(plan: FetchPlan, transfer: Transfer, response: Response, offset: Int64) {
        guard case .file(let path) = transfer.output, Terminal.standardError.isTerminal, !plan.isSilent, !plan.reports
        else {
            return nil
        }
        // What is decoded on the way has another length than the server says.
        let isDecoded = plan.client.decodesContent && response.fields[.contentEncoding] != nil
        let expected = isDecoded ? nil : response.fields[.contentLength].flatMap { Int64($0) }
        bar = ProgressBar(name: path, offset: offset, expected: expected, now: .zero)
    }

    mutating func show(_ received: Int64) { draw(received, isLast: false) }

    mutating func finish(_ received: Int64) {
        draw(received, isLast: true)
        Terminal.standardError.write("\n")
    }

    private mutating func draw(_ received: Int64, isLast: Bool) {
        let now = begin.duration(to: .now)
        let terminal = Terminal.standardError
        guard let line = bar.line(received: received, now: now, width: terminal.width, isLast: isLast) else { return }
        // Back to the start of the line, and away with what a longer line left behind.
        terminal.write("\r\(line)\u{1b}[K")
    }
}
