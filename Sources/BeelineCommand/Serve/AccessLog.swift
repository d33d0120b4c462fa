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

/// Lines of answered questions, written behind the event loops. Where the disk is slower than the questions, the oldest lines
/// that wait are dropped.
final class AccessLog: Sendable {
    private let path: String
    /// Where lines go now, and where they are to go from the next one on.
    private let files: NIOLockedValueBox<(now: FileDescriptor, next: FileDescriptor?)>
    private let lines: AsyncStream<String>
    private let continuation: AsyncStream<String>.Continuation

    /// Lines that may wait.
    private static let capacity = 10_000

    /// Opens a file to append to, `-` for standard error; nil where no log is wanted.
    init?(_ path: String?) throws(CommandFailure) {
        guard let path else { return nil }
        self.path = path
        files = NIOLockedValueBox((try Self.open(path), nil))
        (lines, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(Self.capacity))
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
    var add: @Sendable (AccessRecord) -> Void {
        { [continuation] record in continuation.yield(Self.line(record)) }
    }

    /// No line comes any more.
    func finish() { continuation.finish() }

    /// Writes lines until all are written after ``finish()``.
    func run() async {
        for await line in lines {
            let (file, old) = files.withLockedValue { files -> (FileDescriptor, FileDescriptor?) in
                guard let next = files.next else { return (files.now, nil) }
                defer { files = (next, nil) }
                return (next, files.now)
            }
            // Nobody else writes, so that nothing is under way there.
            try? old?.close()
            try? file.write(line.utf8)
        }
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
