// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import InMemoryTracing
import MetricsTestKit
import NIOConcurrencyHelpers
import NIOCore
import Testing
import Tracing

@Suite("WebSockets use the name's identity and cookies", .timeLimit(.minutes(1)))
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

    @Test("a WebSocket keeps the name's Host, SNI, Origin and cookies at the address from HTTPDNS, and stores cookies")
    func staysItself() async throws {
        let lab = try await start()
        _ = try await lab.client.get(lab.url("a.test", "/login")).text()
        let authority = "a.test:\(lab.site.port)"
        let socket = try await lab.client.webSocket("wss://\(authority)/live")
        #expect(try await socket.receive() == .text("\(authority) a.test https://\(authority) 7"))
        #expect(try await socket.receive() == nil)
        #expect(socket.closure?.code == .normal)
        #expect(socket.connection.endpoint == lab.site.endpoints[0])
        let jar = try #require(lab.client.jar)
        let names = jar.cookies(for: try HTTPURL(lab.url("a.test"))).map(\.name)
        #expect(Set(names) == ["sid", "seen"])
        #expect(lab.upstream.queries.count == 1, "HTTPDNS named the address, once for both")
        await lab.stop()
    }

    @Test("the handshake sends Basic or Bearer credentials of the request, the URL or the origin")
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

    @Test("a response that opens no WebSocket is an error, and its cookies are stored")
    func refused() async throws {
        let lab = try await start()
        let error = await #expect(throws: BeelineError.self) {
            _ = try await lab.client.webSocket("wss://a.test:\(lab.site.port)/closed")
        }
        #expect(error?.code == .upgradeRefused)
        #expect((error?.underlyingError as? DirectHTTPError)?.response?.status == .forbidden)
        let jar = try #require(lab.client.jar)
        #expect(jar.cookies(for: try HTTPURL(lab.url("a.test"))).map(\.name) == ["why"])
        await lab.stop()
    }

    private struct Signing: Interceptor {
        let seen = NIOLockedValueBox<[String]>([])

        func intercept(_ request: ClientRequest, next: InterceptorNext) async throws -> Response {
            var request = request
            request.fields[.referer] = "signed"
            let response = try await next(request)
            seen.withLockedValue { $0.append("\(request.url.origin.scheme) \(response.status.code)") }
            return response
        }
    }

    @Test("interceptors see the handshake and its response like any other request")
    func interceptors() async throws {
        let signing = Signing()
        let lab = try await start { $0.interceptors = [signing] }
        let socket = try await lab.client.webSocket("wss://a.test:\(lab.site.port)/live")
        await socket.close()
        #expect(lab.site.requests.last?.fields[.referer] == "signed")
        let error = await #expect(throws: BeelineError.self) {
            _ = try await lab.client.webSocket("wss://a.test:\(lab.site.port)/closed")
        }
        #expect(error?.code == .upgradeRefused)
        #expect(signing.seen.withLockedValue { $0 } == ["wss 101", "wss 403"])
        await lab.stop()
    }

    private struct Answering: Interceptor {
        func intercept(_ request: ClientRequest, next: InterceptorNext) async throws -> Response {
            Response(answering: request, status: .ok)
        }
    }

    @Test("an interceptor that answers the handshake itself opens no WebSocket")
    func answered() async throws {
        let client = try plainClient { $0.interceptors = [Answering()] }
        let error = await #expect(throws: BeelineError.self) { _ = try await client.webSocket("ws://127.0.0.1:9/") }
        #expect(error?.code == .upgradeRefused)
        #expect((error?.underlyingError as? DirectHTTPError)?.response?.status == .ok)
        await client.shutDown()
    }

    @Test("metrics and spans cover handshakes, including refused ones")
    func observed() async throws {
        let tracer = InMemoryTracer()
        let metrics = TestMetrics()
        let lab = try await start {
            $0.observability.tracer = tracer
            $0.observability.metrics = metrics
        }
        let socket = try await lab.client.webSocket("wss://a.test:\(lab.site.port)/live")
        _ = try? await lab.client.webSocket("wss://a.test:\(lab.site.port)/closed")
        let attributes = tracer.finishedSpans.map(\.attributes)
        #expect(attributes.map { $0.get("http.response.status_code") } == [.int64(101), .int64(403)])
        #expect(attributes.map { $0.get("url.scheme") } == [.string("wss"), .string("wss")])
        #expect(attributes.last?.get("error.type") == .string("403"))
        let durations =
            metrics.recorders.filter { $0.label == "http.client.request.duration" }.count
            + metrics.timers.filter { $0.label == "http.client.request.duration" }.count
        #expect(durations == 2)
        await socket.close()
        await lab.stop()
    }

    @Test("a Digest challenge to the handshake is answered, and the next handshake answers in advance")
    func challenged() async throws {
        let lab = try await ClientLab { request in
            guard request.fields[.authorization]?.hasPrefix("Digest ") ?? false else {
                return Reply(
                    status: .unauthorized,
                    fields: [.wwwAuthenticate: "Digest realm=\"r\", nonce=\"n\", qop=\"auth\""]
                )
            }
            return Routes.webSocketEcho(request)
        }
        var options = RequestOptions()
        options.credentials = .digest(user: "me", password: "x")
        for _ in 0..<2 {
            let socket = try await lab.client.webSocket("wss://a.test:\(lab.site.port)/", options: options)
            await socket.close()
        }
        #expect(lab.site.requests.map { $0.fields[.authorization] != nil } == [false, true, true])
        let refused = await #expect(throws: BeelineError.self) {
            _ = try await lab.client.webSocket("wss://a.test:\(lab.site.port)/")
        }
        #expect((refused?.underlyingError as? DirectHTTPError)?.response?.status == .unauthorized)
        await lab.stop()
    }

    @Test("a handshake is retried by the retry policy, and is never hedged")
    func retried() async throws {
        let lab = try await ClientLab(configure: {
            $0.retry = .standard
            $0.retry.backoff.first = .milliseconds(1)
            $0.hedge = HedgePolicy(delay: .zero)
        }) { request in
            request.connection.number < 3 ? .status(.serviceUnavailable) : Routes.webSocketEcho(request)
        }
        let socket = try await lab.client.webSocket("wss://a.test:\(lab.site.port)/")
        try await socket.send("hello")
        #expect(try await socket.receive() == .text("hello"))
        await socket.close()
        #expect(lab.site.requests.count == 3)
        await lab.stop()
    }

    @Test("the caller's own Origin takes precedence, and options disable sending and storing cookies")
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
        let jar = try #require(lab.client.jar)
        #expect(jar.cookies(for: try HTTPURL(lab.url("a.test"))).map(\.name) == ["sid"])
        let malformed = await #expect(throws: BeelineError.self) { _ = try await lab.client.webSocket("file:///etc") }
        #expect(malformed?.code == .unsupportedScheme)
        await lab.stop()
    }
}
