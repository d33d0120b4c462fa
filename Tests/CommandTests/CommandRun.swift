// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import BeelineWebDriver
import Foundation
import Testing

/// The output and exit code of a program that has ended.
struct CommandRun: Sendable {
    var status: Int32
    var output: Data
    var errors: String

    var text: String { String(decoding: output, as: UTF8.self) }

    /// The path of the program under test, in the same folder as the tests.
    static let beeline: String = {
        let environment = ProcessInfo.processInfo.environment
        if let path = environment["BEELINE_COMMAND"] { return path }
        let beside = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("beeline").path
        if FileManager.default.isExecutableFile(atPath: beside) { return beside }
        return URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent(".build/debug/beeline").path
    }()

    /// Starts a program as a user without root's privileges.
    static let unprivileged =
        geteuid() == 0 ? ["/usr/bin/setpriv", "--reuid=65534", "--clear-groups"] : ["/usr/bin/env"]

    static let canRunUnprivileged = FileManager.default.isExecutableFile(atPath: unprivileged[0])

    /// Runs a program and returns when it has ended. Cancelling the task kills it.
    ///
    /// - Parameters:
    ///   - folder: its working directory and home.
    ///   - environment: added to an environment that has only `PATH` and `HOME`.
    static func run(
        _ program: String,
        _ arguments: [String],
        in folder: Folder,
        environment: [String: String] = [:],
        input: Data = Data(),
        whileRunning: @Sendable (_ process: Int32) async throws -> Void = { _ in }
    ) async throws -> CommandRun {
        let stem = "run-\(UUID().uuidString)"
        let output = try folder.write(Data(), to: "\(stem).out")
        let errors = try folder.write(Data(), to: "\(stem).err")
        let inputPath = try folder.write(input, to: "\(stem).in")
        // Files, because a pipe that is full blocks its writer. The shell redirects to them and becomes the program.
        let script = #"cd "$0" && in=$1 out=$2 err=$3 && shift 3 && exec "$@" <"$in" >"$out" 2>"$err""#
        let launch = ProgramLaunch(
            ["/bin/sh", "-c", script, folder.path, inputPath, output, errors, program] + arguments,
            environment: ["PATH": "/usr/bin:/bin", "HOME": folder.path].merging(environment) { $1 }
        )
        // Not Foundation's Process: its run() has crashed on Linux, in one of thousands of starts.
        let number = try launch.start()
        let (ends, end) = AsyncStream.makeStream(of: CInt.self)
        DispatchQueue(label: "beeline.tests.wait").async {
            var status: CInt = 0
            while waitpid(number, &status, 0) < 0, errno == EINTR {}
            end.yield(ProgramLaunch.exitCode(status))
            end.finish()
        }
        var status: CInt?
        try await withTaskCancellationHandler {
            try await whileRunning(number)
            for await code in ends { status = code }
        } onCancel: {
            kill(number, SIGKILL)
        }
        try Task.checkCancellation()
        return CommandRun(
            status: try #require(status),
            output: try Data(contentsOf: URL(fileURLWithPath: output)),
            errors: String(decoding: try Data(contentsOf: URL(fileURLWithPath: errors)), as: UTF8.self)
        )
    }
}

/// A folder for the files of one test. It is removed with its owner.
final class Folder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "/beeline-tests-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file and returns its path.
    @discardableResult
    func write(_ data: Data, to name: String) throws -> String {
        try data.write(to: URL(fileURLWithPath: "\(path)/\(name)"))
        return "\(path)/\(name)"
    }

    @discardableResult
    func write(_ text: String, to name: String) throws -> String { try write(Data(text.utf8), to: name) }

    func data(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)")) }

    func text(_ name: String) throws -> String { String(decoding: try data(name), as: UTF8.self) }

    func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: "\(path)/\(name)") }

    /// Waits until a file has a text, and returns the text. `.out` and `.err` are the ends of the names of a run's files.
    @discardableResult
    func waitForText(
        _ what: String,
        ending: String = ".err",
        until isThere: (String) -> Bool
    ) async throws -> String {
        var found: String?
        try await eventually(what, every: .milliseconds(5)) {
            for name in try FileManager.default.contentsOfDirectory(atPath: path) where name.hasSuffix(ending) {
                let content = try text(name)
                guard isThere(content) else { continue }
                found = content
                return true
            }
            return false
        }
        return found ?? ""
    }
}
