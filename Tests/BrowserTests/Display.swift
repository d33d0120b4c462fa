// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A screen that nobody sees, for browsers that need one: Xvfb.
final class Display: Sendable {
    /// `:1`.
    let name: String
    /// A folder for files that the browser reads.
    let folder: String
    private let number: Int32

    init() async throws {
        folder = NSTemporaryDirectory() + "/beeline-display-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/Xvfb")
        process.arguments = ["-displayfd", "1", "-screen", "0", "1024x768x24", "-nolisten", "tcp"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        number = process.processIdentifier
        // It prints its number when it takes connections.
        let line = output.fileHandleForReading.availableData
        name = ":" + String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    func stop() {
        kill(number, SIGTERM)
        try? FileManager.default.removeItem(atPath: folder)
    }
}
