// SPDX-License-Identifier: Apache-2.0

import Beeline
import NIOConcurrencyHelpers

/// The progress of all transfers of a command line. One transfer at a time has a bar; transfers at the same time share a line.
/// Both appear only on a terminal, except for the bar of `-#`.
final class ProgressBoard: Sendable {
    private struct State {
        var started = 0
        var ended = 0
        var bytes: Int64 = 0
        var lastDrawn: ContinuousClock.Instant?
        var isDrawn = false
    }

    private let isShown: Bool
    private let isParallel: Bool
    private let isPlain: Bool
    private let terminal = Terminal.standardError
    private let begin = ContinuousClock.now
    private let state = NIOLockedValueBox(State())

    /// - Parameter isHidden: whether there is no display (`--no-progress-meter`).
    init(_ settings: SessionArguments, isHidden: Bool) {
        isParallel = settings.isParallel
        isPlain = settings.showsBar
        // As in curl, `-#` shows the bar in a file or a pipe too.
        let hasPlace = Terminal.standardError.isTerminal || isPlain && !isParallel
        isShown = !isHidden && hasPlace && settings.printsNotes
    }

    /// Returns the meter of a transfer that starts.
    func meter(for transfer: Transfer, of plan: FetchPlan) -> TransferMeter {
        state.withLockedValue { $0.started += 1 }
        return TransferMeter(self, transfer: transfer, plan: plan)
    }

    /// Returns the display of one transfer; nil if none is shown.
    ///
    /// - Parameter path: the output file; nil for standard output, which has only the bar of `-#`, and not on a terminal.
    func display(_ response: Response, path: String?, offset: Int64) -> ProgressDisplay? {
        guard isShown, !isParallel, path != nil || isPlain && !Terminal.standardOutput.isTerminal else { return nil }
        return ProgressDisplay(response: response, path: path, offset: offset, isPlain: isPlain)
    }

    /// Adds received bytes.
    func add(_ bytes: Int64) {
        state.withLockedValue { $0.bytes += bytes }
        draw()
    }

    /// Counts a transfer that ended.
    func end() {
        state.withLockedValue { $0.ended += 1 }
        draw()
    }

    /// Ends the line after the last transfer.
    func finish() {
        guard state.withLockedValue({ $0.isDrawn }) else { return }
        draw(isLast: true)
        terminal.write("\n")
    }

    private func draw(isLast: Bool = false) {
        guard isShown, isParallel else { return }
        let now = ContinuousClock.now
        let text = state.withLockedValue { state -> String? in
            if let last = state.lastDrawn, last.duration(to: now) < ProgressBar.interval, !isLast { return nil }
            (state.lastDrawn, state.isDrawn) = (now, true)
            return Self.line(
                ended: state.ended,
                running: state.started - state.ended,
                bytes: state.bytes,
                elapsed: begin.duration(to: now)
            )
        }
        if let text { terminal.write("\r\(text.prefix(max(1, terminal.width - 1)))\u{1b}[K") }
    }

    /// Formats the line: `12 done, 3 running  1.5 MiB  320.0 KiB/s  0:05`.
    static func line(ended: Int, running: Int, bytes: Int64, elapsed: Duration) -> String {
        let speed = elapsed > .zero ? Double(bytes) / elapsed.seconds : 0
        return "\(ended) done, \(running) running  \(ProgressBar.bytes(Double(bytes)))  "
            + "\(ProgressBar.bytes(speed))/s  \(ProgressBar.time(elapsed.seconds))"
    }
}
