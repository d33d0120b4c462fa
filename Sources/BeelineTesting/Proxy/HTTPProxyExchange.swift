// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Names

/// The proxy side of one HTTP proxy connection.
struct HTTPProxyExchange: Sendable {
    let log: Watched<[ProxyServer.Request]>
    let credentials: String?
    let instead: (@Sendable (ProxyServer.Request) async throws -> Reply?)?
    let route: @Sendable (String, UInt16) -> Endpoint?

    /// Serves requests until one is tunnelled or forwarded. After a 407 reply, the client may try again.
    func serve(_ connection: RawConnection) async throws {
        while let received = try await connection.receiveRequest() {
            guard let request = Self.request(received) else {
                _ = try await connection.send(.text("what target?\n", status: .badRequest), to: received.method)
                return
            }
            log.append(request)
            if let reply = try await refusal(of: request) {
                guard try await connection.send(reply, to: received.method) else { return }
                continue
            }
            guard let endpoint = route(request.host, request.port),
                let server = try? await RawConnection.connect(to: endpoint)
            else {
                _ = try await connection.send(.text("no way there\n", status: .badGateway), to: received.method)
                return
            }
            return try await tunnel(connection, server) {
                if request.method == .connect {
                    try await connection.send("HTTP/1.1 200 Connection established\r\n\r\n")
                } else {
                    try await server.send(Self.forwarded(received))
                }
            }
        }
    }

    private func refusal(of request: ProxyServer.Request) async throws -> Reply? {
        if let credentials, request.credentials != credentials {
            return .text("who are you?\n", status: .proxyAuthenticationRequired)
                .adding(.proxyAuthenticate, "Basic realm=\"test\"")
        }
        return try await instead?(request)
    }

    private static func request(_ received: ReceivedRequest) -> ProxyServer.Request? {
        let isConnect = received.method == .connect
        var authority = received.target[...]
        if !isConnect {
            guard authority.lowercased().hasPrefix("http://") else { return nil }
            authority = authority.dropFirst(7).prefix { $0 != "/" && $0 != "?" }
        }
        var port: UInt16 = 80
        if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
            guard let number = UInt16(authority[authority.index(after: colon)...]) else { return nil }
            port = number
            authority = authority[..<colon]
        }
        let basic = received.fields[.proxyAuthorization].flatMap { value in
            value.lowercased().hasPrefix("basic ") ? TestBase64.decode(value.dropFirst(6)) : nil
        }
        return ProxyServer.Request(
            method: isConnect ? .connect : .forward,
            host: String(authority),
            port: port,
            credentials: basic.map { String(decoding: $0, as: UTF8.self) },
            fields: received.fields
        )
    }

    /// The request in origin form. It asks the origin to close, so that the proxy need not parse the response.
    private static func forwarded(_ received: ReceivedRequest) -> [UInt8] {
        let rest = received.target.dropFirst(7).drop { $0 != "/" && $0 != "?" }
        var text = "\(received.method.rawValue) \(rest.hasPrefix("/") ? "" : "/")\(rest) HTTP/1.1\r\n"
        let hopByHop: [HTTPField.Name] = [.connection, .proxyAuthorization, .transferEncoding, .contentLength]
        for field in received.fields
        where !hopByHop.contains(field.name) && field.name.canonicalName != "proxy-connection" {
            text += "\(field.name.rawName): \(field.value)\r\n"
        }
        let hadBody = received.fields[.contentLength] != nil || received.fields[.transferEncoding] != nil
        if hadBody { text += "Content-Length: \(received.body.count)\r\n" }
        return Array((text + "Via: 1.1 test\r\nConnection: close\r\n\r\n").utf8) + received.body
    }
}

/// Runs `begin`, copies bytes in both directions until both sides have closed, and closes the connection to the server.
func tunnel(_ client: RawConnection, _ server: RawConnection, begin: () async throws -> Void) async throws {
    do {
        try await begin()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (from, to) in [(client, server), (server, client)] {
                group.addTask {
                    while let bytes = try await from.receive() { try await to.send(bytes) }
                    try? await to.finishSending()
                }
            }
            // An error in one direction cancels the other.
            defer { group.cancelAll() }
            try await group.next()
            try await group.next()
        }
    } catch {
        await server.close()
        throw error
    }
    await server.close()
}
