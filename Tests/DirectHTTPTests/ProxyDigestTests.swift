// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import Names
import Testing

@testable import DirectHTTP

@Suite("Proxies with Digest authentication (RFC 7616)", .timeLimit(.minutes(1)))
struct ProxyDigestTests {
    /// A proxy that checks Digest answers, in front of a TLS site and a plain site.
    struct DigestLab {
        let lab: Lab
        let plain: LoopbackOrigin
        let server: ProxyServer
        var proxy: Proxy

        /// - Parameters:
        ///   - ending: how the connection ends after a challenge.
        ///   - uses: the number of requests for which a nonce is valid.
        ///   - page: the body of a challenge.
        init(
            ending: Reply.Ending = .keepAlive,
            uses: Int = 1_000,
            password: String = "secret",
            page: String = "who are you?"
        ) async throws {
            lab = try await Lab(addresses: ["127.0.0.1"]) { .text("\($0.connection.serverName ?? "-") \($0.target)") }
            plain = try await LoopbackOrigin.start { .text("\($0.target) \($0.text)") }
            let nonce = NIOLockedValueBox((number: 0, uses: 0))
            server = try await ProxyServer.start(.http) { request in
                let (number, isStale) = nonce.withLockedValue { nonce in
                    let isStale = nonce.uses >= uses
                    if isStale { nonce = (nonce.number + 1, 0) }
                    return (nonce.number, isStale)
                }
                if !isStale, Self.isRight(request, nonce: "n\(number)") {
                    nonce.withLockedValue { $0.uses += 1 }
                    return nil
                }
                var reply = Reply.text(page, status: .proxyAuthenticationRequired)
                reply.ending = ending
                return reply.adding(
                    .proxyAuthenticate,
                    "Digest realm=\"r\", nonce=\"n\(number)\", qop=\"auth\"\(isStale ? ", stale=true" : "")"
                )
            } route: { _, port in
                Endpoint(IPAddress(v4: 0x7f00_0001), port: port)
            }
            let origin = Origin(scheme: .http, host: try Host("proxy.test"), port: server.endpoint.port)
            proxy = Proxy(origin: origin, user: "me", password: password)
        }

        private static func isRight(_ request: ProxyServer.Request, nonce: String) -> Bool {
            let given = request.fields[.proxyAuthorization].flatMap { AuthChallenge.parse($0).first }
            guard let given, let challenge = DigestChallenge(given), challenge.nonce == nonce,
                let uri = given.parameters["uri"],
                let count = given.parameters["nc"].flatMap({ UInt32($0, radix: 16) }),
                uri.hasPrefix(request.method == .connect ? "a.test:\(request.port)" : "http://a.test:\(request.port)/")
            else { return false }
            let right = DigestAnswer(
                challenge: challenge,
                user: "me",
                password: "secret",
                method: request.method == .connect ? "CONNECT" : "GET",
                uri: uri,
                count: count,
                clientNonce: given.parameters["cnonce"] ?? ""
            )
            return right.fieldValue.flatMap { AuthChallenge.parse($0).first } == given
        }

        func get(isSecure: Bool, body: RequestBody = .none) async throws -> ExchangeResponse {
            let url = isSecure ? "https://a.test:\(lab.origin.port)/x" : "http://a.test:\(plain.port)/x"
            return try await lab.engine.exchange(
                PreparedRequest(.get, HTTPURL(url), body: body),
                from: EndpointList([server.endpoint]),
                route: .proxy(proxy),
                tls: lab.tls
            )
        }

        /// The scheme of each request's credentials: `B` for Basic, `D` for Digest, `-` for none.
        var given: String {
            server.requests.map { $0.fields[.proxyAuthorization].map { String($0.prefix(1)) } ?? "-" }.joined()
        }

        func stop() async {
            await lab.stop()
            await plain.stop()
            await server.stop()
        }
    }

    @Test(
        "one challenge is enough for a tunnel or a forwarded request, and later requests answer in advance",
        arguments: [true, false],
        [Reply.Ending.keepAlive, .close]
    )
    func answers(isSecure: Bool, ending: Reply.Ending) async throws {
        for allowsBasic in [true, false] {
            var lab = try await DigestLab(ending: ending)
            lab.proxy.allowsBasic = allowsBasic
            for _ in 0..<2 {
                #expect(try await lab.get(isSecure: isSecure).text() == (isSecure ? "a.test /x" : "/x "))
                lab.lab.engine.closeIdle()
            }
            #expect(lab.given == (allowsBasic ? "BDD" : "-DD"))
            await lab.stop()
        }
    }

    @Test("a proxy that closes after a challenge without announcing it gets the answer on a new connection")
    func unannouncedClose() async throws {
        let lab = try await DigestLab(ending: .hangUp)
        #expect(try await lab.get(isSecure: true).text() == "a.test /x")
        #expect(lab.given == "BD")
        await lab.stop()
    }

    @Test("a challenge with a large page is answered on a new connection, and a refusal with one stays a refusal")
    func largePage() async throws {
        let page = String(repeating: "x", count: 100_000)
        let lab = try await DigestLab(page: page)
        #expect(try await lab.get(isSecure: true).text() == "a.test /x")
        #expect(lab.given == "BD")
        await lab.stop()
        let wrong = try await DigestLab(password: "guess", page: page)
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await wrong.get(isSecure: true) }
        #expect(error?.code == .proxyRefused && error?.response?.status == .proxyAuthenticationRequired)
        #expect(wrong.given == "BD")
        await wrong.stop()
    }

    @Test("requests that get the same nonce at the same time do not repeat its count")
    func sharedNonce() throws {
        let memory = AuthMemory()
        let origin = Origin(scheme: .http, host: try Host("proxy.test"))
        let proxy = Proxy(origin: origin, user: "me", password: "secret")
        let credentials = try #require(proxy.credentials)
        var counts: [String] = []
        for nonce in ["n", "n", "m"] {
            let challenge = ["Digest realm=\"r\", nonce=\"\(nonce)\", qop=\"auth\""]
            #expect(memory.recordChallenge(challenge, credentials, for: origin, used: nil, isRemembered: true))
            let answer = memory.authorization(credentials, for: origin, method: .get, target: "/")
            let field = try #require(answer?.field)
            counts.append(AuthChallenge.parse(field).first?.parameters["nc"] ?? "none")
        }
        #expect(counts == ["00000001", "00000002", "00000001"])
    }

    @Test("a Basic login that a redirect carries replaces no Digest challenge that arrives at the same time")
    func carriedBasic() async throws {
        let credentials = Credentials.any(user: "me", password: "secret")
        let source = Origin(scheme: .https, host: try Host("a.test"))
        let target = Origin(scheme: .https, host: try Host("b.test"))
        let digest = ["Digest realm=\"r\", nonce=\"n\", qop=\"auth\""]
        for _ in 0..<1_000 {
            let memory = AuthMemory()
            #expect(
                memory.recordChallenge(
                    ["Basic realm=\"r\""],
                    credentials,
                    for: source,
                    used: nil,
                    isRemembered: false
                )
            )
            await withTaskGroup(of: Void.self) { group in
                group.addTask { memory.carryBasic(credentials, from: source, to: target) }
                group.addTask {
                    _ = memory.recordChallenge(digest, credentials, for: target, used: nil, isRemembered: false)
                }
            }
            let answer = memory.authorization(credentials, for: target, method: .get, target: "/")
            #expect(answer?.field.hasPrefix("Digest ") == true)
        }
    }

    @Test("a stale nonce costs one more round trip", arguments: [true, false], [Reply.Ending.keepAlive, .close])
    func stale(isSecure: Bool, ending: Reply.Ending) async throws {
        let lab = try await DigestLab(ending: ending, uses: 1)
        for _ in 0..<3 {
            // A connection is idle once its response was read.
            #expect(try await lab.get(isSecure: isSecure).text() == (isSecure ? "a.test /x" : "/x "))
            lab.lab.engine.closeIdle()
        }
        #expect(lab.given == "BDDDDD")
        await lab.stop()
    }

    @Test(
        "a proxy that calls every nonce stale gets two answers, and then its refusal is the result",
        arguments: [Reply.Ending.keepAlive, .close]
    )
    func alwaysStale(ending: Reply.Ending) async throws {
        let lab = try await DigestLab(ending: ending, uses: 0)
        #expect(try await lab.get(isSecure: false).head.status == .proxyAuthenticationRequired)
        #expect(lab.given == "BDD")
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await lab.get(isSecure: true) }
        #expect(error?.code == .proxyRefused && error?.response?.status == .proxyAuthenticationRequired)
        // The previous nonce is remembered, and a tunnel is opened at most twice.
        #expect(lab.given == (ending == .keepAlive ? "BDDDDD" : "BDDDD"))
        await lab.stop()
    }

    @Test("a wrong password is sent once, so that no account is locked", arguments: [Reply.Ending.keepAlive, .close])
    func wrong(ending: Reply.Ending) async throws {
        let lab = try await DigestLab(ending: ending, password: "guess")
        #expect(try await lab.get(isSecure: false).head.status == .proxyAuthenticationRequired)
        #expect(lab.given == "BD")
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await lab.get(isSecure: true) }
        #expect(error?.code == .proxyRefused && error?.response?.status == .proxyAuthenticationRequired)
        #expect(error?.message.contains("user or password is wrong") == true)
        #expect(lab.given == "BDD")
        await lab.stop()
    }

    @Test("a proxy that asks for Basic after receiving it does not get the password by Digest")
    func refusedBasic() async throws {
        let memory = AuthMemory()
        let origin = Origin(scheme: .http, host: try Host("proxy.test"))
        let both = ["Basic realm=\"r\"", "Digest realm=\"r\", nonce=\"n\""]
        for (allowsBasic, isAnswered) in [(true, false), (false, true)] {
            var proxy = Proxy(origin: origin, user: "me", password: "secret")
            proxy.allowsBasic = allowsBasic
            let credentials = try #require(proxy.credentials)
            let used = memory.authorization(credentials, for: origin, method: .connect, target: "a.test:443")
            #expect(used?.field == (allowsBasic ? "Basic bWU6c2VjcmV0" : nil))
            let answered = memory.recordChallenge(both, credentials, for: origin, used: used, isRemembered: true)
            #expect(answered == isAnswered)
        }
    }

    @Test("a Digest challenge of an origin, passed on by a proxy that knows Basic only, does not break later requests")
    func foreignChallenge() async throws {
        let lab = try await Lab(addresses: ["127.0.0.1"]) { .text($0.target) }
        let plain = try await LoopbackOrigin.start { request in
            guard request.target == "/evil" else { return .text(request.target) }
            return Reply.text("", status: .proxyAuthenticationRequired)
                .adding(.proxyAuthenticate, "Digest realm=\"r\", nonce=\"evil\", qop=\"auth\", stale=true")
        }
        let server = try await ProxyServer.start(.http) { request in
            if request.fields[.proxyAuthorization]?.hasPrefix("Basic ") == true { return nil }
            // What the origin asked for is gone.
            return Reply.text("", status: .proxyAuthenticationRequired).adding(.proxyAuthenticate, "Basic realm=\"p\"")
        } route: { _, port in
            Endpoint(IPAddress(v4: 0x7f00_0001), port: port)
        }
        let origin = Origin(scheme: .http, host: try Host("proxy.test"), port: server.endpoint.port)
        for waitsForChallenge in [false, true] {
            var proxy = Proxy(origin: origin, user: "me", password: "secret")
            proxy.waitsForChallenge = waitsForChallenge
            func get(_ url: String) async throws -> HTTPResponse.Status {
                let response = try await lab.engine.exchange(
                    PreparedRequest(.get, HTTPURL(url)),
                    from: EndpointList([server.endpoint]),
                    route: .proxy(proxy),
                    tls: lab.tls
                )
                _ = try await response.text()
                lab.engine.closeIdle()
                return response.head.status
            }
            #expect(try await get("http://a.test:\(plain.port)/") == .ok)
            #expect(try await get("http://a.test:\(plain.port)/evil") == .proxyAuthenticationRequired)
            #expect(try await get("http://a.test:\(plain.port)/") == .ok)
            _ = try await get("http://a.test:\(plain.port)/evil")
            #expect(try await get("https://a.test:\(lab.origin.port)/") == .ok)
        }
        await lab.stop()
        await plain.stop()
        await server.stop()
    }

    @Test("a body that can be read only once is sent once, and the proxy's challenge is the response")
    func once() async throws {
        let lab = try await DigestLab()
        let body = RequestBody.once(length: 1, PieceSequence(ByteBuffer(string: "x"), count: 1))
        #expect(try await lab.get(isSecure: false, body: body).head.status == .proxyAuthenticationRequired)
        #expect(try await lab.get(isSecure: false, body: .bytes("x".utf8)).text() == "/x x")
        await lab.stop()
    }
}
