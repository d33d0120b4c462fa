// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import NIOCore
import NIOPosix

/// A server that others wrote, with files of its own, until it is stopped.
package final class Daemon: Sendable {
    private let folder: String
    private let process: Int32

    /// Starts a program and waits until it takes connections.
    ///
    /// - Parameters:
    ///   - program: its path.
    ///   - port: where it takes connections once it is ready.
    ///   - make: writes its files into a folder, and gives its arguments.
    package init(_ program: String, readyAt port: UInt16, _ make: (_ folder: String) throws -> [String]) async throws {
        folder = NSTemporaryDirectory() + "/beeline-daemon-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = try make(folder)
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        self.process = process.processIdentifier
        let number = process.processIdentifier
        do {
            try await withTimeLimit(.seconds(20), { program }) {
                let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                while true {
                    if let channel = try? await bootstrap.connect(host: "127.0.0.1", port: Int(port)).get() {
                        return try await channel.close().get()
                    }
                    try await Task.sleep(for: .milliseconds(10))
                }
            }
        } catch {
            kill(number, SIGKILL)
            throw error
        }
    }

    package func stop() {
        // At once: dnsdist does not end by SIGTERM, and none of them has anything to save.
        kill(process, SIGKILL)
        // Its port is free again when this returns.
        var status: Int32 = 0
        waitpid(process, &status, 0)
        try? FileManager.default.removeItem(atPath: folder)
    }
}
