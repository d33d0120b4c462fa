// SPDX-License-Identifier: Apache-2.0

import Beeline

/// Draws a ``ProgressBar`` on standard error during a download to a file, if standard error is a terminal.
struct ProgressDisplay {
    private var bar: ProgressBar
    private let begin = ContinuousClock.now

    /// Nil if no progress is shown.
    init?(plan: FetchPlan, transfer: Transfer, response: Response, offset: Int64) {
        guard case .file(let path) = transfer.output, Terminal.standardError.isTerminal, !plan.isSilent, !plan.reports
        else {
            return nil
        }
        // Content-Length is the size before decoding.
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
        // Return to the start of the line, and clear the rest of a longer previous line.
        terminal.write("\r\(line)\u{1b}[K")
    }
}
