// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import CookieJar
import Foundation

/// A process of `RedisJarWriter`, which shares a jar and is killed.
enum WriterProcess {
    /// The program, which is built next to the tests.
    static let program: String = {
        let beside = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("RedisJarWriter").path
        if FileManager.default.isExecutableFile(atPath: beside) { return beside }
        return URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent(".build/debug/RedisJarWriter").path
    }()

    /// Carries out the changes 1 to `last` in processes of which the first ones are killed at arbitrary times.
    static func run(id: Int, port: UInt16, jar: String, last: Int, kills: Int) async throws {
        var random = SeededRandom(seed: UInt64(id))
        var done = 0
        for round in 0...kills {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: program)
            process.arguments = ["\(port)", jar, "\(id)", "\(done + 1)", "\(last)"]
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            let number = process.processIdentifier
            // The kills are spread over the changes.
            let most = max(2 * last / (50 * (kills + 1)), 1)
            let count = round < kills ? Int.random(in: 1...most, using: &random) : .max
            let delay = UInt32.random(in: 0...3_000, using: &random)
            let said = try await lines(of: output, upTo: count) {
                // Not a wait for an event: the delay makes the time of the kill arbitrary.
                usleep(delay)
                kill(number, SIGKILL)
            }
            done = said.compactMap { $0.hasPrefix("done ") ? Int($0.dropFirst(5)) : nil }.last ?? done
            if let error = said.first(where: { $0.hasPrefix("error") }) {
                throw TestingError(.badInput, "the writer failed: \(error)")
            }
            if done == last { return }
        }
        throw TestingError(.closed, "the writer ended at \(done)")
    }

    private static func lines(
        of output: Pipe,
        upTo count: Int,
        then end: @escaping @Sendable () -> Void
    ) async throws -> [String] {
        let file = output.fileHandleForReading
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var text = Data()
                var isEnded = false
                while true {
                    let chunk = file.availableData
                    if chunk.isEmpty { break }
                    text.append(chunk)
                    if !isEnded, text.filter({ $0 == 0x0a }).count >= count {
                        isEnded = true
                        end()
                    }
                }
                let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
                continuation.resume(returning: lines.map { String($0) })
            }
        }
    }

    /// The cookies that a process leaves when it has carried out all its changes: the last change of each slot decides.
    static func expected(last: Int) -> [String: String] {
        var slots: [String: String] = [:]
        for number in 1...last { slots["slot\(number % 64)"] = number % 7 == 0 ? nil : "\(number)" }
        return slots
    }

    /// The cookies of a process.
    static func slots(_ id: Int, in jar: CookieJar) -> [String: String] {
        let cookies = jar.allCookies().filter { $0.domain == "w\(id).test" }
        return Dictionary(cookies.map { ($0.name, $0.value) }) { $1 }
    }
}
#endif
