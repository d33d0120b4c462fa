// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import NIOConcurrencyHelpers

@testable import BeelineRedis

/// A double of a Redis server that answers each command by a script, and records the commands.
final class RedisDouble: Sendable {
    /// The answer to one command.
    enum Step {
        /// Octets to send.
        case reply(String)
        /// Octets to send before the end of the connection. May be empty.
        case cut(String)
    }

    private let server: RawServer
    private let log: NIOLockedValueBox<[String]>

    private init(_ server: RawServer, _ log: NIOLockedValueBox<[String]>) { (self.server, self.log) = (server, log) }

    /// - Parameter answer: The answer to a command, whose words are separated by spaces.
    static func start(_ answer: @escaping @Sendable (_ command: String) -> Step) async throws -> RedisDouble {
        let log = NIOLockedValueBox<[String]>([])
        let server = try await RawServer.start { connection in
            var reader = RedisReplyReader()
            while let octets = try await connection.receive() {
                reader.append(octets)
                while let words = try reader.next(.init(octets: 1 << 20, elements: 1_024))?.elements {
                    let command = words.compactMap(\.text).joined(separator: " ")
                    log.withLockedValue { $0.append(command) }
                    switch answer(command) {
                    case .reply(let text): try await connection.send(text)
                    case .cut(let text):
                        if !text.isEmpty { try await connection.send(text) }
                        return
                    }
                }
            }
        }
        return RedisDouble(server, log)
    }

    var port: UInt16 { server.port }
    /// The commands in the order in which they came.
    var commands: [String] { log.withLockedValue { $0 } }

    /// The settings of a client.
    var configuration: RedisConfiguration {
        var configuration = RedisConfiguration()
        configuration.port = port
        configuration.timeout = .seconds(20)
        configuration.retryDelay = .seconds(60)...Duration.seconds(60)
        return configuration
    }

    /// Waits until the client has closed the connections, or the double has.
    func closed() async throws { try await server.connections { $0.open == 0 } }

    func stop() async { await server.stop() }
}

extension RedisAnswers {
    /// Adds to a counter until there is a reply. There is none while a connection is being opened.
    func added(_ amount: Int, to key: String) async throws -> Int {
        try await eventualValue("a reply for \(key)", within: .seconds(30)) {
            await self.add(amount, to: key, lifetime: .seconds(60))
        }
    }

    /// Waits until a connection is open.
    func connected() async throws {
        try await eventually("the connection", within: .seconds(30)) { self.isConnected }
    }
}
#endif
