// SPDX-License-Identifier: Apache-2.0

#if !canImport(Darwin)
import BeelineTesting
import Foundation

/// A process of these tests with its own file as the system's root certificates. It runs in a mount namespace, so that
/// the machine's file stays unchanged.
enum TrustingProcess {
    private static let variable = "BEELINE_TRUSTED_BUNDLE"
    private static let system = "/etc/ssl/certs/ca-certificates.crt"

    /// The file, if this is such a process.
    static var bundle: URL? { ProcessInfo.processInfo.environment[variable].map { URL(fileURLWithPath: $0) } }

    static let isPossible: Bool = {
        let probe = Process()
        probe.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        probe.arguments = ["-rm", "true"]
        probe.standardError = FileHandle.nullDevice
        guard (try? probe.run()) != nil else { return false }
        probe.waitUntilExit()
        return probe.terminationStatus == 0
    }()

    /// Runs one of these tests in such a process.
    static func run(test: String) async throws -> (status: Int32, output: String) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let bundle = folder.appendingPathComponent("roots.pem")
        let output = folder.appendingPathComponent("output")
        for file in [bundle, output] { try Data().write(to: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        let script = "mount --bind \"$0\" \(system) && exec \"$@\""
        let tests = [CommandLine.arguments[0], "--testing-library", "swift-testing", "--filter", test]
        process.arguments = ["-rm", "/bin/sh", "-c", script, bundle.path] + tests
        process.environment = ProcessInfo.processInfo.environment.merging([variable: bundle.path]) { $1 }
        let handle = try FileHandle(forWritingTo: output)
        process.standardOutput = handle
        process.standardError = handle
        let ended = Gate()
        process.terminationHandler = { _ in ended.open() }
        try process.run()
        let number = process.processIdentifier
        try await withTaskCancellationHandler {
            try await ended.wait()
        } onCancel: {
            kill(number, SIGKILL)
        }
        return (process.terminationStatus, String(decoding: try Data(contentsOf: output), as: UTF8.self))
    }
}
#endif
