// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import NIOCore
import Testing

@Suite("Redirects (RFC 9110 §15.4)", .timeLimit(.minutes(1)))
struct RedirectTests {
    @Test("a redirect is followed without waiting for its body")
    func bodyThatDoesNotCome() async throws {
        let gate = Gate()
        let site = try await LoopbackOrigin.start { request in
            guard request.path == "/go" else { return .text("there") }
            return Reply(status: .found, fields: [.location: "/end", .contentLength: "100"], body: [.wait(gate)])
        }
        let client = try plainClient()
        let text = try await withTimeLimit(.seconds(30), for: { "the redirect" }) {
            try await client.get(site.url("/go")).text()
        }
        #expect(text == "there")
        await client.shutDown()
        await site.stop()
    }

    /// Answers `/go?status=&to=` with a redirect, and every other path with the request that it received.
    static let handler: LoopbackOrigin.Handler = { request in
        if request.path == "/loop" { return .redirect(to: "loop") }
        if request.path == "/go" {
            let status = HTTPResponse.Status(code: Int(request.query["status"] ?? "") ?? 302)
            return .redirect(to: request.query["to"] ?? "", status: status)
                .adding(.setCookie, "hop=\(request.connection.serverName ?? ""); Path=/")
        }
        let fields = request.fields
        return .text(
            [
                request.method.rawValue, request.authority ?? "", request.text, fields[.authorization] ?? "-",
                fields[.cookie] ?? "-", fields[.contentType] ?? "-",
            ].joined(separator: "|")
        )
    }

    @Test(
        "the status decides whether a redirect keeps method and body",
        arguments: [
            (301, HTTPRequest.Method.post, "GET", ""), (302, .post, "GET", ""), (303, .post, "GET", ""),
            (303, .put, "GET", ""), (301, .put, "PUT", "body"), (307, .post, "POST", "body"),
            (308, .post, "POST", "body"),
            (308, .patch, "PATCH", "body"),
        ]
    )
    func methods(status: Int, method: HTTPRequest.Method, expected: String, body: String) async throws {
        let lab = try await ClientLab(handler: Self.handler)
        let response = try await lab.client.send(
            method,
            lab.url("a.test", "/go?status=\(status)&to=/end"),
            fields: [.contentType: "text/plain"],
            body: .stream(length: nil) { AsyncBytes(Array("body".utf8)) }
        )
        let seen = try await response.text().split(separator: "|", omittingEmptySubsequences: false).map(String.init)
        #expect(seen[0] == expected)
        #expect(seen[2] == body)
        #expect(seen[5] == (body.isEmpty ? "-" : "text/plain"))
        #expect(response.hops.map(\.status.code) == [status, 200])
        await lab.stop()
    }

    @Test("a Host field of the request is sent to its own origin only", arguments: ["http/1.1", "h2"])
    func host(version: String) async throws {
        let lab = try await ClientLab(protocols: [version], handler: Self.handler)
        let fields: HTTPFields = [try #require(HTTPField.Name("Host")): "other.test"]
        let seen = try await lab.client.get(lab.url("a.test", "/end"), fields: fields)
        #expect(try await seen.text() == "GET|other.test||-|-|-")
        #expect(seen.hop.request.authority == "other.test")
        let target = lab.url("b.test", "/end")
        let next = try await lab.client.get(lab.url("a.test", "/go?to=\(target)"), fields: fields)
        #expect(try await next.text() == "GET|b.test:\(lab.site.port)||-|-|-")
        await lab.stop()
    }

    @Test("a redirect to another host is resolved by HTTPDNS, with its own cookies and no secrets of the first")
    func crossHost() async throws {
        let lab = try await ClientLab(handler: Self.handler)
        let target = lab.url("b.test", "/end")
        let response = try await lab.client.get(
            lab.url("a.test", "/go?to=\(target)"),
            fields: [.authorization: "Bearer secret", .cookie: "own=1"]
        )
        #expect(try await response.text() == "GET|b.test:\(lab.site.port)||-|-|-")
        #expect(lab.upstream.queries.map(\.name) == ["a.test", "b.test"])
        #expect(response.hops.map { $0.cookiesReceived.map(\.outcome) } == [[.kept], []])
        let back = try await lab.client.get(lab.url("a.test", "/end"))
        #expect(try await back.text() == "GET|a.test:\(lab.site.port)||-|hop=a.test|-")
        await lab.stop()
    }

    @Test(
        "credentials in a redirect's URL are sent to that origin, and a relative redirect keeps the request's own",
        arguments: [
            ("us:pw@b.test", "dXM6cHc="), ("us:pw@a.test", "dXM6cHc="), ("/end", "bWU6b3du"), ("b.test", nil),
        ] as [(String, String?)]
    )
    func credentialsOfPlace(place: String, sent: String?) async throws {
        let lab = try await ClientLab(handler: Self.handler)
        let target = place.hasPrefix("/") ? place : "https://\(place):\(lab.site.port)/end"
        var options = RequestOptions()
        options.credentials = .basic(user: "me", password: "own")
        let url = "https://x:y@a.test:\(lab.site.port)/go?to=\(target)"
        let seen = try await lab.client.send(.get, url, options: options).text()
        #expect(seen.contains("||\(sent.map { "Basic \($0)" } ?? "-")|"))
        await lab.stop()
    }

    @Test("a Cookie and an Authorization of the request go to no other origin, unless the caller trusts every location")
    func secretsStayInTheOrigin() async throws {
        let lab = try await ClientLab(names: ["a.test", "www.a.test"], handler: Self.handler)
        for (trusts, expected) in [(false, "|-|-|-"), (true, "|Bearer secret|own=1|-")] {
            var options = RequestOptions()
            options.credentialsFollowRedirects = trusts
            let response = try await lab.client.get(
                lab.url("a.test", "/go?to=\(lab.url("www.a.test", "/end"))"),
                fields: [.authorization: "Bearer secret", .cookie: "own=1"],
                options: options
            )
            #expect(try await response.text().hasSuffix(expected))
        }
        await lab.stop()
    }

    @Test("a Cookie of the request does not follow to another port of the same host")
    func cookieToAnotherPort() async throws {
        let lab = try await ClientLab(handler: Self.handler)
        var tls = ServerTLS()
        tls.certificates = [try lab.authority.certificate(for: "a.test")]
        let other = try await LoopbackOrigin.start(tls: tls, handler: Self.handler)
        let response = try await lab.client.get(
            lab.url("a.test", "/go?to=https://a.test:\(other.port)/end"),
            fields: [.cookie: "own=1"]
        )
        #expect(try await response.text().hasSuffix("|-|hop=a.test|-"))
        await lab.stop()
        await other.stop()
    }

    @Test(
        "the rules of redirects keep a POST, keep any method, and name the page before",
        arguments: [
            (301, "POST", [301], false, false, "POST|body"), (302, "POST", [301], false, false, "GET|"),
            (303, "POST", [303], false, false, "POST|body"), (302, "IGLOO", [], true, false, "IGLOO|body"),
            (302, "IGLOO", [], true, true, "IGLOO|"), (303, "DELETE", [], false, false, "GET|"),
            (302, "IGLOO", [], false, true, "GET|"),
        ] as [(Int, String, Set<Int>, Bool, Bool, String)]
    )
    func rules(
        status: Int,
        method: String,
        keepsPost: Set<Int>,
        keepsMethod: Bool,
        countsAsPost: Bool,
        expected: String
    ) async throws {
        let lab = try await ClientLab { request in
            guard request.path == "/go" else {
                return .text("\(request.method)|\(request.text)|\(request.fields[.referer] ?? "")")
            }
            return .redirect(to: "/end", status: .init(code: status))
        }
        var rules = RedirectRules()
        rules.keepsPost = keepsPost
        rules.keepsMethod = keepsMethod
        rules.countsAsPost = countsAsPost
        rules.sendsReferer = true
        var options = RequestOptions()
        options.redirectRules = rules
        let seen = try await lab.client.send(
            #require(HTTPRequest.Method(method)),
            "https://us:er@a.test:\(lab.site.port)/go#mark",
            body: .bytes("body".utf8),
            options: options
        )
        #expect(try await seen.text() == expected + "|https://a.test:\(lab.site.port)/go")
        await lab.stop()
    }

    @Test("a Referer of the request is not sent over http after a redirect from https (RFC 9110 §10.1.3)")
    func refererAfterDowngrade() async throws {
        let lab = try await ClientLab(handler: Self.handler)
        let plain = try await LoopbackOrigin.start(handler: Self.handler)
        let own = "https://shop.test/reset?token=secret"
        let rows: [(String, LoopbackOrigin, String?)] = [("/end", lab.site, own), (plain.url("/end"), plain, nil)]
        for (target, site, seen) in rows {
            let url = lab.url("a.test", "/go?to=\(target)")
            let response = try await lab.client.get(url, fields: [.referer: own])
            #expect(response.hops.count == 2)
            #expect(site.requests.last?.fields[.referer] == seen)
            await response.body.discard()
        }
        await lab.stop()
        await plain.stop()
    }

    @Test("a redirect to a scheme that the rules leave out is refused")
    func schemes() async throws {
        let lab = try await ClientLab(handler: Self.handler)
        var options = RequestOptions()
        options.redirectRules = RedirectRules()
        options.redirectRules?.schemes = [.https]
        let error = await #expect(throws: BeelineError.self) {
            _ = try await lab.client.get(lab.url("a.test", "/go?to=http://a.test/"), options: options)
        }
        #expect(error?.code == .unsupportedScheme)
        #expect(error?.hops.count == 1)
        await lab.stop()
    }

    @Test("the request's own cookies are merged with the jar's and take precedence, at each hop of the origin")
    func ownCookiesWin() async throws {
        let lab = try await ClientLab(handler: Self.handler)
        let jar = try #require(lab.client.jar)
        let site = try HTTPURL(lab.url("a.test"))
        jar.store(["hop=jar", "kept=jar"], from: site)
        let response = try await lab.client.get(
            lab.url("a.test", "/go?to=/end"),
            fields: [.cookie: "hop=mine; own=1"]
        )
        #expect(try await response.text().hasSuffix("|kept=jar; hop=mine; own=1|-"))
        #expect(response.hops.map(\.cookiesSent) == [["kept", "hop", "own"], ["kept", "hop", "own"]])
        // Cookies of the request are not stored in the jar.
        #expect(jar.cookies(for: site).map(\.name).contains("own") == false)
        await lab.stop()
    }

    @Test("a body that can be read only once is not sent again after a redirect, and the error says so")
    func once() async throws {
        let lab = try await ClientLab(handler: Self.handler)
        let error = await #expect(throws: BeelineError.self) {
            _ = try await lab.client.post(
                lab.url("a.test", "/go?status=307&to=/end"),
                body: .once(length: 4, AsyncBytes(Array("body".utf8)))
            )
        }
        #expect(error?.code == .bodyNotReplayable)
        await lab.stop()
    }

    @Test("a redirect loop and a redirect out of HTTP are errors")
    func badRedirects() async throws {
        let lab = try await ClientLab(handler: Self.handler)
        let loop = await #expect(throws: BeelineError.self) {
            _ = try await lab.client.get(lab.url("a.test", "/loop"))
        }
        #expect(loop?.code == .tooManyRedirects)
        #expect(loop?.hops.count == 21)
        let file = await #expect(throws: BeelineError.self) {
            _ = try await lab.client.get(lab.url("a.test", "/go?to=file:///etc/passwd"))
        }
        #expect(file?.code == .unsupportedScheme)
        await lab.stop()
    }

    @Test("a client that does not follow redirects returns the redirect and stores its cookies")
    func notFollowed() async throws {
        let lab = try await ClientLab(handler: Self.handler)
        var options = RequestOptions()
        options.redirects = .off
        let response = try await lab.client.get(lab.url("a.test", "/go?to=/end"), options: options)
        #expect(response.status == .found)
        #expect(response.hop.cookiesReceived.map(\.outcome) == [.kept])
        await lab.stop()
    }
}

/// Bytes that are read as a stream.
struct AsyncBytes: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    struct AsyncIterator: AsyncIteratorProtocol {
        var bytes: [UInt8]?

        mutating func next() async -> ByteBuffer? { bytes.take().map { ByteBuffer(bytes: $0) } }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(bytes: bytes) }
}
