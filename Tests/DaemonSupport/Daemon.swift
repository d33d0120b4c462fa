// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import NIOCore
import NIOPosix

/// A process of an installed server program, with a temporary folder for its files, until it is stopped.
package final class Daemon: Sendable {
    private let folder: String
    private let process: Int32

    /// Starts a program and waits until it accepts connections, for 20 seconds at most.
    ///
    /// - Parameters:
    ///   - program: its path.
    ///   - port: the port of 127.0.0.1 that it accepts connections on.
    ///   - make: writes its files into a folder and returns its arguments.
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
            let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            let channel = try await eventualValue("a connection to \(program)", every: .milliseconds(10)) {
                try? await bootstrap.connect(host: "127.0.0.1", port: Int(port)).get()
            }
            try await channel.close().get()
        } catch {
            kill(number, SIGKILL)
            throw error
        }
    }

    package func stop() {
        // SIGKILL, because dnsdist ignores SIGTERM; no daemon has data to save.
        kill(process, SIGKILL)
        // Wait for the end, so that the port is free when this returns.
        var status: Int32 = 0
        waitpid(process, &status, 0)
        try? FileManager.default.removeItem(atPath: folder)
    }
}
