// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Names

/// The proxy side of one SOCKS5 connection (RFC 1928).
struct SOCKSExchange: Sendable {
    let log: Watched<[ProxyServer.Request]>
    let credentials: String?
    let route: @Sendable (String, UInt16) -> Endpoint?

    func serve(_ connection: RawConnection) async throws {
        let greeting = try await connection.receive(count: 2)
        guard greeting[0] == 5 else { throw TestingError(.badInput, "SOCKS version \(greeting[0])") }
        let methods = try await connection.receive(count: Int(greeting[1]))
        guard let given = try await authenticate(connection, methods) else { return }
        let head = try await connection.receive(count: 4)
        guard let host = try await receiveHost(connection, type: head[3]) else { return }
        let port = try await connection.receive(count: 2).reduce(0) { $0 << 8 | UInt16($1) }
        log.append(
            ProxyServer.Request(
                method: .socks5,
                host: host,
                port: port,
                credentials: given.isEmpty ? nil : given,
                fields: [:]
            )
        )
        guard head[1] == 1 else { return try await reply(connection, 7) }
        guard let endpoint = route(host, port) else { return try await reply(connection, 4) }
        guard let server = try? await RawConnection.connect(to: endpoint) else {
            return try await reply(connection, 5)
        }
        try await tunnel(connection, server) { try await reply(connection, 0) }
    }

    /// The received credentials, or an empty text if none are required; nil if the client was rejected.
    private func authenticate(_ connection: RawConnection, _ methods: [UInt8]) async throws -> String? {
        guard let credentials else {
            try await connection.send([5, methods.contains(0) ? 0 : 0xff])
            return methods.contains(0) ? "" : nil
        }
        guard methods.contains(2) else {
            try await connection.send([5, 0xff])
            return nil
        }
        try await connection.send([5, 2])
        // RFC 1929 §2.
        let user = try await connection.receive(count: Int(try await connection.receive(count: 2)[1]))
        let password = try await connection.receive(count: Int(try await connection.receive(count: 1)[0]))
        let given = String(decoding: user + [UInt8(ascii: ":")] + password, as: UTF8.self)
        try await connection.send([1, given == credentials ? 0 : 1])
        return given == credentials ? given : nil
    }

    private func receiveHost(_ connection: RawConnection, type: UInt8) async throws -> String? {
        switch type {
        case 1, 4:
            let address = IPAddress(octets: try await connection.receive(count: type == 1 ? 4 : 16))
            return address.map { "\($0)" }
        case 3:
            let count = try await connection.receive(count: 1)[0]
            return String(decoding: try await connection.receive(count: Int(count)), as: UTF8.self)
        default:
            try await reply(connection, 8)
            return nil
        }
    }

    /// Sends the reply to the request, with an empty bound address.
    private func reply(_ connection: RawConnection, _ code: UInt8) async throws {
        try await connection.send([5, code, 0, 1, 0, 0, 0, 0, 0, 0])
    }
}
