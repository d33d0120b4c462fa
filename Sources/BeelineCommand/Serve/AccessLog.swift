// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineServer
import Dispatch
import LibC
import NIOConcurrencyHelpers

/// Writes the access log on its own thread. If the disk is slow or full, lines beyond the capacity are dropped, and a later
/// line reports their number.
final class AccessLog: Sendable {
    private struct State {
        /// The waiting lines, and the number of dropped lines.
        var lines: [UInt8] = []
        var dropped = 0
        /// Whether a write is scheduled on the queue.
        var isScheduled = false
        /// The current file, and the file that replaces it at the next write.
        var file: FileDescriptor
        var next: FileDescriptor?
    }

    private struct LastWrite {
        /// The rest of the line that the write has cut; empty if the file ends with a whole line.
        var rest: [UInt8] = []
        var failed = false
    }

    private let path: String
    private let format: AccessLogFormat
    /// Guards the lines, which are added on event loops.
    private let state: NIOLockedValueBox<State>
    /// The queue for writes, because a disk or pipe may block.
    private let queue: DispatchQueue
    /// The result of the last write. Used only on the queue.
    private let last = NIOLockedValueBox(LastWrite())

    /// The maximum size of the waiting lines in octets.
    static let capacity = 4 << 20

    /// Opens a file for appending; `-` is standard error, `/dev/stdout` is standard output. Nil without a path.
    ///
    /// - Parameter queue: the queue for writes.
    init?(
        _ path: String?,
        format: AccessLogFormat = .text,
        queue: DispatchQueue = DispatchQueue(label: "beeline.access-log")
    ) throws(CommandFailure) {
        guard let path else { return nil }
        self.format = format
        self.path = path
        self.queue = queue
        state = NIOLockedValueBox(State(file: try Self.open(path)))
    }

    /// The stream of this process that a path means. It is not opened again, because a socket, such as that of systemd's journal,
    /// cannot be opened by its path.
    private static func standard(_ path: String) -> FileDescriptor? {
        switch path {
        case "-": .standardError
        case "/dev/stdout": .standardOutput
        default: nil
        }
    }

    private static func open(_ path: String) throws(CommandFailure) -> FileDescriptor {
        if let standard = standard(path) { return standard }
        do {
            return try FileDescriptor.open(path, .append, permissions: 0o600, waits: false)
        } catch {
            let reason = error.code == ENXIO ? "the pipe has no reader" : "\(error)"
            throw CommandFailure(.writeFailed, "--access-log \(path): \(reason)")
        }
    }

    /// Reopens the file after log rotation. Prints an error and keeps the open file.
    func reload() {
        do {
            try reopen()
        } catch {
            Terminal.log("the access log was not reopened: \(error)")
        }
    }

    /// Reopens the file after log rotation.
    func reopen() throws(CommandFailure) {
        guard Self.standard(path) == nil else { return }
        let file = try Self.open(path)
        let unused = state.withLockedValue { state in
            defer { state.next = file }
            return state.next
        }
        try? unused?.close()
    }

    /// Adds a line. Called on event loops.
    func add(_ record: AccessRecord) {
        let line = format.line(record).utf8
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

    /// Returns when all lines are written, or after `limit` if the reader is blocked.
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
        // Writes happen only on this queue, so the old file is not in use.
        try? old?.close()
        let before = last.withLockedValue { $0 }
        // A new file does not have the beginning of the line, which is lost.
        let rest = old == nil ? before.rest : []
        let missing = dropped + (rest.isEmpty && !before.rest.isEmpty ? 1 : 0)
        guard !rest.isEmpty || !lines.isEmpty || missing > 0 else { return }
        var text = rest + lines
        let end = text.count
        if missing > 0 { text += format.line(dropped: missing).utf8 }
        do {
            try file.write(text)
            last.withLockedValue { $0 = LastWrite() }
        } catch {
            // The next write completes the line that this one has cut, because half a line of JSON is not JSON. The next reader
            // of a pipe does not have the beginning.
            let endsInside = error.written == 0 ? !rest.isEmpty : text[error.written - 1] != 0x0a
            let isCut = endsInside && !error.isBrokenPipe
            let after = isCut ? (text[error.written...].firstIndex(of: 0x0a) ?? text.count - 1) + 1 : error.written
            last.withLockedValue { $0 = LastWrite(rest: Array(text[error.written..<after]), failed: true) }
            // The next successful write reports the lost lines.
            let lost = text[..<end].dropFirst(after).count { $0 == 0x0a }
            state.withLockedValue { $0.dropped += lost + (after > end ? 0 : missing) }
            if !before.failed { Terminal.log("--access-log \(path): \(error)") }
        }
    }
}
