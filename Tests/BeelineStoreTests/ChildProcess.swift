// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import NIOConcurrencyHelpers

/// A process of `StoreCrashWriter`. Its lines can be read, and it can be killed.
final class ChildProcess: Sendable {
    /// The program, which is built next to the tests.
    private static let program: String = {
        let beside = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("StoreCrashWriter").path
        if FileManager.default.isExecutableFile(atPath: beside) { return beside }
        return URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent(".build/debug/StoreCrashWriter").path
    }()

    private let number: Int32
    private let output: FileHandle
    private let input: FileHandle
    private let ends: AsyncStream<Void>
    /// Octets that were read and do not yet make a complete line.
    private let rest = NIOLockedValueBox<[UInt8]>([])

    init(_ arguments: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.program)
        process.arguments = arguments
        let (fromChild, toChild) = (Pipe(), Pipe())
        process.standardOutput = fromChild
        process.standardInput = toChild
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in end.finish() }
        try process.run()
        number = process.processIdentifier
        output = fromChild.fileHandleForReading
        input = toChild.fileHandleForWriting
        self.ends = ends
    }

    /// Waits for the next line of the child; nil at the end.
    func line() -> String? {
        rest.withLockedValue { rest in
            while true {
                if let end = rest.firstIndex(of: 0x0a) {
                    defer { rest.removeSubrange(...end) }
                    return String(decoding: rest[..<end], as: UTF8.self)
                }
                var chunk = [UInt8](repeating: 0, count: 4096)
                let count = read(output.fileDescriptor, &chunk, chunk.count)
                guard count > 0 else { return nil }
                rest += chunk[..<count]
            }
        }
    }

    /// Sends a line and returns the answer.
    @discardableResult
    func ask(_ line: String) async throws -> String {
        try await withTimeLimit(.seconds(30), for: { "an answer to \(line)" }) { [self] in
            try await blocking { [self] in
                try input.write(contentsOf: Data((line + "\n").utf8))
                return self.line() ?? "the process ended"
            }
        }
    }

    /// Kills the process with `kill -9`.
    func kill() { Foundation.kill(number, SIGKILL) }

    /// Returns when the process has ended.
    func end() async { for await _ in ends {} }
}
