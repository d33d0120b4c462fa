// SPDX-License-Identifier: Apache-2.0

import Beeline

/// Draws a ``ProgressBar`` on standard error during a download to a file.
struct ProgressDisplay: Sendable {
    private var bar: ProgressBar
    private let begin = ContinuousClock.now

    /// - Parameters:
    ///   - path: the output file; nil for standard output.
    ///   - offset: the number of bytes already in the file.
    ///   - isPlain: draws the bar of `-#`.
    init(response: Response, path: String?, offset: Int64, isPlain: Bool) {
        // Content-Length is the size before decoding.
        let isDecoded = response.fields[.contentEncoding] != nil
        let expected = isDecoded ? nil : response.fields[.contentLength].flatMap { Int64($0) }
        bar = ProgressBar(name: path ?? "-", offset: offset, expected: expected, now: .zero, isPlain: isPlain)
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
        terminal.write(terminal.isTerminal ? "\r\(line)\u{1b}[K" : "\r\(line)")
    }
}
