// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineRedis
import BeelineTesting
import Foundation

/// A separate Redis or Valkey server, which runs until it is stopped.
final class RedisServer: Sendable {
    /// The servers that are installed.
    static let programs = ["/usr/bin/redis-server", "/usr/bin/valkey-server"].filter {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    let port: UInt16
    private let process: Int32
    /// The server's folder. Its own, because a server loads the data that another one left in a folder.
    private let folder = NSTemporaryDirectory() + "/beeline-redis-server-\(UUID().uuidString)"

    init(_ program: String, port: UInt16? = nil, arguments: [String] = []) throws {
        self.port = try port ?? freePorts(1)[0]
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments =
            ["--port", "\(self.port)", "--bind", "127.0.0.1", "--save", "", "--dir", folder] + arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        self.process = process.processIdentifier
    }

    /// A Sentinel with a configuration file, which it changes.
    init(sentinel file: String, port: UInt16) throws {
        self.port = port
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.programs[0])
        process.arguments = [file, "--sentinel", "--port", "\(port)", "--bind", "127.0.0.1"]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        self.process = process.processIdentifier
    }

    /// Shared answers in this server, with short pauses between attempts to connect.
    func answers(_ change: (inout RedisConfiguration) -> Void = { _ in }) -> RedisAnswers {
        var configuration = RedisConfiguration()
        configuration.port = port
        // A busy machine must not make the server look unavailable.
        configuration.timeout = .seconds(5)
        configuration.retryDelay = .milliseconds(5)...Duration.milliseconds(20)
        change(&configuration)
        return RedisAnswers(configuration)
    }

    /// Kills the server and waits until it has ended.
    func stop() {
        kill(process, SIGKILL)
        var status: Int32 = 0
        waitpid(process, &status, 0)
        try? FileManager.default.removeItem(atPath: folder)
    }
}
#endif
