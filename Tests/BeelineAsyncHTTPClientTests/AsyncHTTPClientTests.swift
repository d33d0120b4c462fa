// SPDX-License-Identifier: Apache-2.0

#if AsyncHTTPClient
import AsyncHTTPClient
import Beeline
import BeelineAsyncHTTPClient
import BeelineTesting
import NIOCore
import NIOHTTP1
import Testing

@Suite("Requests and responses of AsyncHTTPClient")
struct AsyncHTTPClientTests {
    /// A site whose name only the test's upstream knows, and a client that trusts it.
    struct Lab {
        let site: LoopbackOrigin
        let upstream: UpstreamServer
        let client: BeelineClient

        init(handler: @escaping LoopbackOrigin.Handler) async throws {
            let authority = try TestAuthority()
            var tls = ServerTLS()
            tls.certificates = [try authority.certificate(for: "a.test")]
            tls.applicationProtocols = ["h2", "http/1.1"]
            site = try await LoopbackOrigin.start(tls: tls, handler: handler)
            upstream = try await UpstreamServer.start()
            try upstream.zone.set("a.test", to: ["127.0.0.1"])
            var configuration = ClientConfiguration()
            configuration.upstreams = [.dnspod(at: [upstream.endpoint])]
            configuration.resolver.check.allowsLocalAnswers = true
            configuration.resolver.families = .v4
            configuration.tls.trustsSystemRoots = false
            configuration.tls.rootPEMs = [authority.rootPEM]
            configuration.proxies = .none
            client = try BeelineClient(configuration)
        }

        func request(_ method: HTTPMethod = .GET, _ path: String = "/") -> HTTPClientRequest {
            var request = HTTPClientRequest(url: "https://a.test:\(site.port)\(path)")
            request.method = method
            return request
        }

        func stop() async {
            await client.shutDown()
            await site.stop()
            await upstream.stop()
        }
    }

    @Test("method, headers, status and body pass in both directions, and the upstream's address is used")
    func both() async throws {
        let lab = try await Lab { request in
            var reply = Reply.text("\(request.method) \(request.fields[values: .accept].joined(separator: "+"))")
            reply.status = .created
            return reply
        }
        var request = lab.request(.PATCH)
        request.headers.add(name: "Accept", value: "a/b")
        request.headers.add(name: "accept", value: "c/d")
        let response = try await lab.client.execute(request, timeout: .seconds(20))
        #expect(response.status == .created && response.version == .http2)
        #expect(response.headers.first(name: "Content-Type")?.hasPrefix("text/plain") == true)
        #expect(String(buffer: try await response.body.collect(upTo: 1_024)) == "PATCH a/b+c/d")
        #expect(response.history.map(\.request.url) == ["https://a.test:\(lab.site.port)/"])
        await lab.stop()
    }

    @Test("headers and body belong together, whether the server compresses or not", arguments: ["/fair", "/always"])
    func codings(path: String) async throws {
        let text = String(repeating: "plain ", count: 1_000)
        let lab = try await Lab { request in
            let isAsked = request.fields[.acceptEncoding]?.contains("gzip") ?? false
            let reply = Reply.text(text)
            return isAsked || request.path == "/always" ? reply.compressed(.gzip) : reply
        }
        let response = try await lab.client.execute(lab.request(.GET, path), timeout: .seconds(20))
        #expect(String(buffer: try await response.body.collect(upTo: 1 << 20)) == text)
        #expect(response.headers.first(name: "Content-Encoding") == nil)
        let length = path == "/fair" ? "\(text.utf8.count)" : nil
        #expect(response.headers.first(name: "Content-Length") == length)
        // The program decodes the body itself.
        var asking = lab.request(.GET, path)
        asking.headers.add(name: "Accept-Encoding", value: "gzip")
        let coded = try await lab.client.execute(asking, timeout: .seconds(20))
        let bytes = try await coded.body.collect(upTo: 1 << 20)
        #expect(coded.headers.first(name: "Content-Encoding") == "gzip")
        #expect(coded.headers.first(name: "Content-Length") == "\(bytes.readableBytes)")
        await lab.stop()
    }

    @Test("a redirect sends the body's bytes again, and appears in the history")
    func replays() async throws {
        let lab = try await Lab { request in
            guard request.path == "/old" else { return .text("\(request.method) \(request.bodySize)") }
            return Reply(status: .temporaryRedirect, fields: [.location: "/new"])
        }
        var request = lab.request(.POST, "/old")
        request.body = .bytes(ByteBuffer(string: "twelve bytes"))
        let response = try await lab.client.execute(request, timeout: .seconds(20))
        #expect(String(buffer: try await response.body.collect(upTo: 1_024)) == "POST 12")
        #expect(response.history.map(\.responseHead.status.code) == [307, 200])
        #expect(lab.site.requests.first?.fields[.contentLength] == "12")
        await lab.stop()
    }

    @Test("a stream arrives whole, with the Content-Length that the request names", arguments: [nil, "300000"])
    func streams(_ length: String?) async throws {
        let lab = try await Lab { request in
            .text("\(request.bodySize) \(request.fields[.contentLength] ?? "-")")
        }
        var request = lab.request(.PUT)
        if let length { request.headers.add(name: "Content-Length", value: length) }
        let pieces = AsyncStream<ByteBuffer> { continuation in
            for _ in 0..<3 { continuation.yield(ByteBuffer(repeating: 7, count: 100_000)) }
            continuation.finish()
        }
        request.body = .stream(pieces, length: .unknown)
        let response = try await lab.client.execute(request, timeout: .seconds(20))
        #expect(String(buffer: try await response.body.collect(upTo: 1_024)) == "300000 \(length ?? "-")")
        await lab.stop()
    }

    @Test("a stream of known length is sent with its Content-Length")
    func knownLength() async throws {
        let lab = try await Lab { .text("\($0.bodySize) \($0.fields[.contentLength] ?? "-")") }
        var request = lab.request(.PUT)
        let pieces = AsyncStream<ByteBuffer> { continuation in
            for _ in 0..<3 { continuation.yield(ByteBuffer(repeating: 7, count: 10)) }
            continuation.finish()
        }
        request.body = .stream(pieces, length: .known(Int64(30)))
        let response = try await lab.client.execute(request, timeout: .seconds(20))
        #expect(String(buffer: try await response.body.collect(upTo: 1_024)) == "30 30")
        await lab.stop()
    }

    @Test("a body may produce its pieces after the request has started, and its head does not wait for them")
    func bodyWaitsForServer() async throws {
        let lab = try await Lab { .text("\($0.text)") }
        var request = lab.request(.POST)
        let (pieces, feed) = AsyncStream<ByteBuffer>.makeStream()
        feed.yield(ByteBuffer(string: "one "))
        request.body = .stream(pieces, length: .unknown)
        let sent = request
        async let response = lab.client.execute(sent, timeout: .seconds(20))
        // The program gets its second piece after the connection is open.
        try await lab.site.connections { $0.open > 0 }
        feed.yield(ByteBuffer(string: "two"))
        feed.finish()
        #expect(String(buffer: try await response.body.collect(upTo: 1_024)) == "one two")
        await lab.stop()
    }

    @Test("the timeout applies to a request whose body never arrives")
    func silentBody() async throws {
        let lab = try await Lab { .text("\($0.text)") }
        _ = try await lab.client.execute(lab.request(), timeout: .seconds(20))
        var request = lab.request(.POST)
        let (pieces, feed) = AsyncStream<ByteBuffer>.makeStream()
        request.body = .stream(pieces, length: .unknown)
        let sent = request
        let error = await #expect(throws: BeelineError.self) {
            try await lab.client.execute(sent, timeout: .milliseconds(200))
        }
        #expect(error?.code == .deadlineExceeded)
        feed.finish()
        await lab.stop()
    }

    @Test("leading and trailing white space of a header value is removed")
    func outerSpace() async throws {
        let lab = try await Lab { request in .text(request.fields[.accept] ?? "") }
        var request = lab.request()
        request.headers.add(name: "Accept", value: " a/b, c/d\t")
        let response = try await lab.client.execute(request, timeout: .seconds(20))
        #expect(String(buffer: try await response.body.collect(upTo: 1_024)) == "a/b, c/d")
        await lab.stop()
    }

    @Test("a request with an unsupported option or an invalid header is refused before it is sent")
    func refusals() async throws {
        let lab = try await Lab { _ in .text("") }
        var bound = lab.request()
        bound.localAddress = "127.0.0.1"
        var broken = lab.request()
        broken.headers.add(name: "X-A", value: "b\r\nc")
        for request in [bound, broken, HTTPClientRequest(url: "ftp://a.test/")] {
            await #expect(throws: BeelineError.self) { try await lab.client.execute(request, timeout: .seconds(5)) }
        }
        #expect(lab.site.requests.isEmpty)
        await lab.stop()
    }

    @Test("a URL with an unsupported scheme is not reported as malformed")
    func unsupportedScheme() async throws {
        let lab = try await Lab { _ in .text("") }
        let error = await #expect(throws: BeelineError.self) {
            try await lab.client.execute(HTTPClientRequest(url: "ftp://a.test/"), timeout: .seconds(5))
        }
        #expect(error?.code == .unsupportedScheme)
        await lab.stop()
    }

    @Test("the timeout applies to a response that never arrives")
    func timeout() async throws {
        let never = Gate()
        let lab = try await Lab { request in
            if request.path == "/late" { try await never.wait() }
            return .text("")
        }
        // Open the connection first: on a busy machine the handshake may take longer than the timeout.
        _ = try await lab.client.execute(lab.request(), timeout: .seconds(20))
        let error = await #expect(throws: BeelineError.self) {
            try await lab.client.execute(lab.request(.GET, "/late"), timeout: .milliseconds(200))
        }
        #expect(error?.code == .deadlineExceeded)
        await lab.stop()
    }
}
#endif
