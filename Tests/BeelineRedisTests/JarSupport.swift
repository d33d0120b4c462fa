// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import CookieJar
import Foundation
import Names

@testable import BeelineRedis

extension RedisServer {
    /// The settings of a jar in this server, with short pauses.
    func jarConfiguration(_ name: String = "shop", port: UInt16? = nil) -> RedisJarConfiguration {
        var configuration = RedisJarConfiguration(name: name)
        configuration.redis.port = port ?? self.port
        // A busy machine must not make the server look unavailable.
        configuration.redis.timeout = .seconds(10)
        configuration.redis.retryDelay = .milliseconds(5)...Duration.milliseconds(20)
        configuration.feedWait = .milliseconds(100)
        return configuration
    }

    /// A jar in this server that has read all that is there.
    func jar(
        _ name: String = "shop",
        limits: CookieJarConfiguration = CookieJarConfiguration(),
        _ change: (inout RedisJarConfiguration) -> Void = { _ in }
    ) async throws -> RedisJar {
        var configuration = jarConfiguration(name)
        change(&configuration)
        let jar = try RedisJar(configuration, jar: limits)
        try await jar.synchronize(within: .seconds(30))
        return jar
    }

    /// The server's clock, in whole seconds.
    func seconds() throws -> Int { Int(try ask("TIME").prefix { $0 != "\n" }) ?? 0 }

    /// The replies to commands, from redis-cli without a shell.
    func ask(_ words: String...) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["redis-cli", "--no-auth-warning", "-p", "\(port)"] + words
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }
}

extension RedisJar {
    /// The cookies of the jar as `name=value`, sorted.
    var pairs: [String] { jar.allCookies().map { "\($0.name)=\($0.value)" }.sorted() }

    /// Waits until the jar has these cookies.
    func has(_ pairs: String..., sourceLocation: String = #function) async throws {
        let wanted = pairs.sorted()
        try await eventually("\(wanted); the jar has \(self.pairs)", within: .seconds(30)) { self.pairs == wanted }
    }

    /// Waits until the state fulfils a condition.
    func state(_ isMet: @escaping @Sendable (RedisJarState) -> Bool) async throws {
        try await eventually("the state; it is \(self.state)", within: .seconds(30)) { isMet(self.state) }
    }

    @discardableResult
    func set(_ name: String, _ value: String) -> CookieOutcome { jar.insert(Cookie(name, value, domain: "shop.test")) }

    func remove(_ name: String) { jar.remove(Cookie(name, "", domain: "shop.test")) }
}
#endif
