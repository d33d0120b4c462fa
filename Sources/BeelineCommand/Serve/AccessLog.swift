// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineServer
import Dispatch
import NIOConcurrencyHelpers

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Lines of answered questions, written on a thread of their own. Where the disk is slower than the questions, or full, lines that
/// find no room are dropped, and a line says how many.
final class AccessLog: Sendable {
    private struct State {
        /// Lines that wait, and how many were dropped among them.
        var lines: [UInt8] = []
        var dropped = 0
        /// Whether the thread was told that lines wait.
        var isScheduled = false
        /// Where lines go now, and where they are to go from the next one on.
        var file: FileDescriptor
        var next: FileDescriptor?
    }

    private struct LastWrite {
        /// Whether a part of a line is the last thing in the file.
        var isTorn = false
        var failed = false
    }

    private let path: String
    /// Guards the lines, which come on event loops.
    private let state: NIOLockedValueBox<State>
    /// Writes: a disk, and more so a pipe, may keep its writer waiting.
    private let queue: DispatchQueue
    /// How the last write went. Used on the queue alone.
    private let last = NIOLockedValueBox(LastWrite())

    /// Octets of lines that may wait.
    static let capacity = 4 << 20

    /// Opens a file to append to, `-` for standard error; nil where no log is wanted.
    ///
    /// - Parameter queue: where lines are written.
    init?(_ path: String?, queue: DispatchQueue = DispatchQueue(label: "beeline.access-log")) throws(CommandFailure) {
        guard let path else { return nil }
        self.path = path
        self.queue = queue
        state = NIOLockedValueBox(State(file: try Self.open(path)))
    }

    private static func open(_ path: String) throws(CommandFailure) -> FileDescriptor {
        if path == "-" { return FileDescriptor(STDERR_FILENO) }
        do {
            return try FileDescriptor.open(path, .append, permissions: 0o600, waits: false)
        } catch {
            let reason = error.code == ENXIO ? "the pipe has no reader" : "\(error)"
            throw CommandFailure(.writeFailed, "--access-log \(path): \(reason)")
        }
    }

    /// Opens the file anew, after another program has moved the old one away.
    func reopen() throws(CommandFailure) {
        guard path != "-" else { return }
        let file = try Self.open(path)
        let unused = state.withLockedValue { state in
            defer { state.next = file }
            return state.next
        }
        try? unused?.close()
    }

    /// Adds a line; called on event loops.
    func add(_ record: AccessRecord) {
        let line = Self.line(record).utf8
        let wasScheduled = state.withLockedValue { state in
            if state.lines.count + line.count <= Self.capacity {
                state.lines.append(contentsOf: line)
            } else {
                state.dropped += 1
            }
            defer { state.isScheduled = true }
            return state.isScheduled
        }
        if !wasScheduled { queue.async { self.write() } }
    }

    /// Returns when all lines are written, or after a while where their reader stands still.
    func finish(within limit: DispatchTimeInterval = .seconds(2)) async {
        await queue.finish(within: limit) { self.write() }
    }

    private func write() {
        let (lines, dropped, file, old) = state.withLockedValue { state in
            let old = state.next.map { _ in state.file }
            state.file = state.next ?? state.file
            defer { (state.lines, state.dropped, state.isScheduled, state.next) = ([], 0, false, nil) }
            return (state.lines, state.dropped, state.file, old)
        }
        // Nothing else writes, so nothing is under way there.
        try? old?.close()
        var before = last.withLockedValue { $0 }
        if old != nil { before.isTorn = false }
        guard !lines.isEmpty || dropped > 0 else { return last.withLockedValue { $0 = before } }
        let start: [UInt8] = before.isTorn ? [0x0a] : []
        var text = start + lines
        if dropped > 0 { text += "[\(CookieTime.now.httpDate)] \(dropped) lines were dropped\n".utf8 }
        do {
            try file.write(text)
            last.withLockedValue { $0 = LastWrite() }
        } catch {
            let isTorn = text.prefix(error.written).last.map { $0 != 0x0a } ?? before.isTorn
            last.withLockedValue { $0 = LastWrite(isTorn: isTorn, failed: true) }
            // Said by the next line that can be written.
            let lost = lines.dropFirst(max(0, error.written - start.count)).count { $0 == 0x0a }
            state.withLockedValue { $0.dropped += dropped + lost }
            if !before.failed { Terminal.standardError.writeLine("beeline: --access-log \(path): \(error)".singleLine) }
        }
    }

    /// `CLIENT FORM ACCOUNT NAMES TYPES STATUS OUTCOME SOURCE OCTETS MICROSECONDS`, `-` for what there is not.
    static func line(_ record: AccessRecord) -> String {
        let microseconds = Int64(clamping: (record.time / .microseconds(1)).rounded(.down))
        let date = CookieTime.now.httpDate
        let words = [
            "\(record.client)", record.form.rawValue, record.account ?? "-", record.names.isEmpty ? "-" : record.names,
            record.types.isEmpty ? "-" : record.types, "\(record.status)", record.outcome, record.source,
            "\(record.octets)", "\(microseconds)",
        ]
        let line = words.map { $0.split(separator: " ").joined(separator: "_") }.joined(separator: " ")
        return "[\(date)] \(line)".singleLine + "\n"
    }
}
