// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import CookieJar
import Foundation

/// A process of `RedisJarWriter`, which shares a jar and is killed.
enum WriterProcess {
    /// What a process does.
    enum Work: Sendable {
        /// Changes cookies.
        case changes
        /// Logs in at an origin with this port.
        case logins(origin: UInt16)

        /// The number of changes or logins between two lines of output.
        var step: Int {
            if case .changes = self { 50 } else { 1 }
        }

        /// The longest time between a line of output and the kill, in microseconds.
        var longestDelay: UInt32 {
            if case .changes = self { 3_000 } else { 60_000 }
        }
    }

    /// What happened to the processes.
    struct Report: Sendable {
        /// The processes that were killed.
        var killed: Set<Int32> = []
        /// The logins during which a process lost its lease or the server.
        var lost: [(process: Int32, login: Int)] = []
    }

    /// The program, which is built next to the tests.
    static let program: String = {
        let beside = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("RedisJarWriter").path
        if FileManager.default.isExecutableFile(atPath: beside) { return beside }
        return URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent(".build/debug/RedisJarWriter").path
    }()

    /// Carries out a work up to `last` in processes of which the first ones are killed at arbitrary times.
    @discardableResult
    static func run(_ work: Work = .changes, id: Int, url: String, last: Int, kills: Int) async throws -> Report {
        var random = SeededRandom(seed: UInt64(id))
        var report = Report()
        var done = 0
        for round in 0...kills {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: program)
            process.arguments = [url, "\(id)", "\(done + 1)", "\(last)"]
            if case .logins(let origin) = work { process.arguments?.append("\(origin)") }
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            let number = process.processIdentifier
            // The kills are spread over the work.
            let most = max(2 * last / (work.step * (kills + 1)), 1)
            let count = round < kills ? Int.random(in: 1...most, using: &random) : .max
            let delay = UInt32.random(in: 0...work.longestDelay, using: &random)
            let said = try await lines(of: output, upTo: count) {
                // Not a wait for an event: the delay makes the time of the kill arbitrary.
                usleep(delay)
                kill(number, SIGKILL)
            }
            if said.last != "closed" { report.killed.insert(number) }
            report.lost += said.compactMap { $0.hasPrefix("lost ") ? Int($0.dropFirst(5)) : nil }.map { (number, $0) }
            done = said.compactMap { $0.hasPrefix("done ") ? Int($0.dropFirst(5)) : nil }.last ?? done
            if let error = said.first(where: { $0.hasPrefix("error") }) {
                throw TestingError(.badInput, "the writer failed: \(error)")
            }
            if done == last { return report }
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
