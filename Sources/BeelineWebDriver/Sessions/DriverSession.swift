// SPDX-License-Identifier: Apache-2.0

import CookieJar
import HTTPDNS
import HTTPTypes
import NIOCore
import NIOPosix
import Names

/// A running W3C WebDriver with its single session.
struct DriverSession {
    let connection: WebDriverConnection
    let process: OwnedProcess
    /// The path prefix of the session's commands.
    let path: String

    /// Starts a driver on a free port and creates a session.
    ///
    /// - Parameters:
    ///   - program: the driver.
    ///   - capabilities: the requested capabilities (§7).
    ///   - profile: the folder for the driver's log.
    static func start(
        _ program: String,
        capabilities: JSONValue,
        environment: [String: String],
        profile: ProfileFolder,
        limits: BrowserConfiguration
    ) async throws(WebDriverError) -> DriverSession {
        let port = try await freePort()
        let arguments = [program, "--port=\(port)"]
        let process = try profile.start(arguments, environment: environment, log: "driver.log")
        let connection = try WebDriverConnection(port: port, limit: limits.commandLimit)
        do throws(WebDriverError) {
            try await awaitReady(connection, process, within: limits.startLimit)
            // If another user's program took the port first, it would receive the cookies.
            guard ListeningSockets.isOwn(port: port) ?? true else {
                throw WebDriverError(.cannotStart, "another user's program took its port \(port); try again")
            }
            let asked: JSONValue = ["capabilities": ["alwaysMatch": capabilities]]
            let session = try await connection.send(
                .post,
                path: "/session",
                parameters: asked,
                within: limits.startLimit
            )
            if let status = process.status { throw WebDriverError(.cannotStart, "it ended with \(status)") }
            guard let name = session["sessionId"]?.string else {
                throw WebDriverError(.cannotStart, "\(program) started a session without an ID")
            }
            return DriverSession(connection: connection, process: process, path: "/session/\(name)")
        } catch {
            await process.end()
            await connection.close()
            throw WebDriverError(.cannotStart, "\(program): \(error.message)", underlyingError: error)
        }
    }

    /// Closes the browser and ends the driver.
    func end() async {
        await briefly { try? await delete("") }
        await process.end()
        await connection.close()
    }

    /// Returns a free port. Drivers do not report the port that they choose, so it must be chosen for them.
    static func freePort() async throws(WebDriverError) -> UInt16 {
        do {
            let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            let channel = try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
            let port = channel.localAddress?.port.flatMap { UInt16(exactly: $0) }
            try await channel.close()
            guard let port else { throw WebDriverError(.cannotStart, "no port is free") }
            return port
        } catch {
            throw error as? WebDriverError
                ?? WebDriverError(.cannotStart, "no port on 127.0.0.1: \(error)", underlyingError: error)
        }
    }

    /// Polls the driver until it is ready (§8.3).
    private static func awaitReady(
        _ connection: WebDriverConnection,
        _ process: OwnedProcess,
        within limit: Duration
    ) async throws(WebDriverError) {
        let clock = ContinuousClock()
        let deadline = clock.now + limit.asWait
        while clock.now < deadline {
            if let status = process.status { throw WebDriverError(.cannotStart, "it ended with \(status)") }
            let rest = clock.now.duration(to: deadline)
            if let answer = try? await connection.send(.get, path: "/status", within: rest),
                answer["ready"]?.bool ?? true
            {
                return
            }
            do { try await clock.sleep(for: .milliseconds(50)) } catch {
                throw WebDriverError(.cannotStart, "its start was cancelled", underlyingError: error)
            }
        }
        throw WebDriverError(.timedOut, "it was not ready within \(limit)")
    }
}
