// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import NIOCore
import Testing

@Suite("WebSockets stay those of their name", .timeLimit(.minutes(1)))
struct WebSocketTests {
    private func start(
        configure: (inout ClientConfiguration) throws -> Void = { _ in }
    ) async throws -> ClientLab {
        try await ClientLab(configure: configure) { request in
            switch request.path {
            case "/login":
                return .text("in").adding(.setCookie, "sid=7; Domain=a.test; Path=/; Secure; HttpOnly")
            case "/closed":
                return Reply.status(.forbidden).adding(.setCookie, "why=closed; Path=/")
            default:
                return .webSocket(for: request, fields: [.setCookie: "seen=1; Path=/"]) { connection in
                    let line =
                        "\(request.authority ?? "-") \(request.connection.serverName ?? "-") "
                        + "\(request.fields[.origin] ?? "-") \(request.cookies["sid"] ?? "-")"
                    try await connection.send(RawWebSocketFrame(.text, Array(line.utf8)).bytes)
                    try await connection.send(RawWebSocketFrame.close(1000).bytes)
                    try await connection.drain()
                }
            }
        }
    }

    @Test("Host, SNI, Origin and cookies are the name's over a told address, and the answer's cookies are kept")
    func staysItself() async throws {
        let lab = try await start()
        _ = try await lab.client.get(lab.url("a.test", "/login")).text()
        let authority = "a.test:\(lab.site.port)"
        let socket = try await lab.client.webSocket("wss://\(authority)/live")
        #expect(try await socket.receive() == .text("\(authority) a.test https://\(authority) 7"))
        #expect(try await socket.receive() == nil)
        #expect(socket.closure?.code == .normal)
        #expect(socket.connection.endpoint == lab.site.endpoints[0])
        let jar = try #require(lab.client.configuration.jar)
        let names = jar.cookies(for: try HTTPURL(lab.url("a.test"))).map(\.name)
        #expect(Set(names) == ["sid", "seen"])
        #expect(lab.upstream.queries.count == 1, "HTTPDNS named the address, once for both")
        await lab.stop()
    }

    @Test("Basic and Bearer go with the handshake: the request's, the URL's, or those of the origin")
    func credentials() async throws {
        let lab = try await ClientLab { Routes.webSocketEcho($0) }
        func sent(_ user: String, _ options: RequestOptions, by client: BeelineClient) async throws -> String? {
            let socket = try await client.webSocket("wss://\(user)a.test:\(lab.site.port)/", options: options)
            await socket.close()
            return lab.site.requests.last?.fields[.authorization]
        }
        var options = RequestOptions()
        #expect(try await sent("", options, by: lab.client) == nil)
        let user = try await sent("Aladdin:open%20sesame@", options, by: lab.client)
        #expect(user == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        options.credentials = .bearer("token")
        #expect(try await sent("u:p@", options, by: lab.client) == "Bearer token")
        var configuration = lab.client.configuration
        let origin = Origin(scheme: .https, host: try Host("a.test"), port: lab.site.port)
        configuration.credentials = [origin: .bearer("mine")]
        let other = try BeelineClient(configuration)
        #expect(try await sent("", RequestOptions(), by: other) == "Bearer mine")
        await other.shutDown()
        await lab.stop()
    }

    @Test("an answer that opens no WebSocket is an error, and its cookies are kept too")
    func refused() async throws {
        let lab = try await start()
        let error = await #expect(throws: BeelineError.self) {
            _ = try await lab.client.webSocket("wss://a.test:\(lab.site.port)/closed")
        }
        #expect(error?.code == BeelineError.Code(.upgradeRefused))
        #expect((error?.underlyingError as? DirectHTTPError)?.response?.status == .forbidden)
        let jar = try #require(lab.client.configuration.jar)
        #expect(jar.cookies(for: try HTTPURL(lab.url("a.test"))).map(\.name) == ["why"])
        await lab.stop()
    }

    @Test("a caller's own Origin and cookies win, and nothing is sent or kept where options say so")
    func options() async throws {
        let lab = try await start()
        _ = try await lab.client.get(lab.url("a.test", "/login")).text()
        var options = RequestOptions()
        options.sendsCookies = false
        options.keepsCookies = false
        let socket = try await lab.client.webSocket(
            "wss://a.test:\(lab.site.port)/",
            fields: [.origin: "https://app.test"],
            options: options
        )
        #expect(try await socket.receive() == .text("a.test:\(lab.site.port) a.test https://app.test -"))
        await socket.close()
        let jar = try #require(lab.client.configuration.jar)
        #expect(jar.cookies(for: try HTTPURL(lab.url("a.test"))).map(\.name) == ["sid"])
        let malformed = await #expect(throws: BeelineError.self) { _ = try await lab.client.webSocket("file:///etc") }
        #expect(malformed?.code == .unsupportedScheme)
        await lab.stop()
    }
}
