// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineServer
import NIOConcurrencyHelpers

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Lines of answered questions, written by a task of their own. Where the disk is slower than the questions, lines that find no
/// room are dropped, and a line says how many.
final class AccessLog: Sendable {
    private let path: String
    /// Where lines go now, and where they are to go from the next one on.
    private let files: NIOLockedValueBox<(now: FileDescriptor, next: FileDescriptor?)>
    /// Lines that wait, and how many found no room among them.
    private let waiting = NIOLockedValueBox<(lines: [UInt8], dropped: Int)>(([], 0))
    /// Wakes the task that writes.
    private let (wakes, waker) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// Octets of lines that may wait.
    static let capacity = 4 << 20

    /// Opens a file to append to, `-` for standard error; nil where no log is wanted.
    init?(_ path: String?) throws(CommandFailure) {
        guard let path else { return nil }
        self.path = path
        files = NIOLockedValueBox((try Self.open(path), nil))
    }

    private static func open(_ path: String) throws(CommandFailure) -> FileDescriptor {
        if path == "-" { return FileDescriptor(STDERR_FILENO) }
        do {
            return try FileDescriptor.open(path, .append, permissions: 0o600)
        } catch {
            throw CommandFailure(.writeFailed, "--access-log \(path): \(error)")
        }
    }

    /// Opens the file anew, for whoever has moved the old one away.
    func reopen() throws(CommandFailure) {
        guard path != "-" else { return }
        let file = try Self.open(path)
        let unused = files.withLockedValue { files in
            defer { files.next = file }
            return files.next
        }
        try? unused?.close()
    }

    /// Adds a line; called on event loops.
    func add(_ record: AccessRecord) {
        let line = Self.line(record).utf8
        waiting.withLockedValue { waiting in
            if waiting.lines.count + line.count <= Self.capacity {
                waiting.lines.append(contentsOf: line)
            } else {
                waiting.dropped += 1
            }
        }
        waker.yield()
    }

    /// No line comes any more.
    func finish() { waker.finish() }

    /// Writes lines until all are written after ``finish()``.
    func run() async {
        for await _ in wakes { write() }
        write()
    }

    private func write() {
        let (lines, dropped) = waiting.withLockedValue { waiting in
            defer { waiting = ([], 0) }
            return waiting
        }
        let (file, old) = files.withLockedValue { files -> (FileDescriptor, FileDescriptor?) in
            guard let next = files.next else { return (files.now, nil) }
            defer { files = (next, nil) }
            return (next, files.now)
        }
        // No other task writes, so nothing is under way there.
        try? old?.close()
        if !lines.isEmpty { try? file.write(lines) }
        if dropped > 0 { try? file.write("[\(CookieTime.now.httpDate)] \(dropped) lines were dropped\n".utf8) }
    }

    /// `CLIENT FORM ACCOUNT NAMES TYPES STATUS OUTCOME SOURCE OCTETS MICROSECONDS`, `-` for what there is not.
    static func line(_ record: AccessRecord) -> String {
        let microseconds =
            record.time.components.seconds * 1_000_000 + record.time.components.attoseconds / 1_000_000_000_000
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
