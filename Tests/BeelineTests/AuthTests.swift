// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import NIOConcurrencyHelpers
import NIOCore
import Testing

@testable import Beeline
@testable import DirectHTTP

@Suite("Credentials: Basic, Bearer, Digest (RFC 7616)", .timeLimit(.minutes(1)))
struct AuthTests {
    // MARK: Test vectors of the RFCs

    private static func answer(_ challenge: String, _ method: String = "GET") throws -> String {
        let challenge = try #require(DigestChallenge.best(of: [challenge]))
        let answer = DigestAnswer(
            challenge: challenge,
            user: "Mufasa",
            password: "Circle of Life",
            method: method,
            uri: "/dir/index.html",
            count: 1,
            clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
        )
        return try #require(answer.fieldValue)
    }

    private static let asked = """
        realm="http-auth@example.org", qop="auth, auth-int", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", \
        opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
        """

    @Test(
        "answers to Digest challenges match the examples of RFC 7616 §3.9.1",
        arguments: [
            ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ]
    )
    func vectors(_ algorithm: String, _ response: String) throws {
        let field = try Self.answer("Digest \(Self.asked), algorithm=\(algorithm)")
        #expect(field.contains("response=\"\(response)\""), "\(field)")
        for part in [
            "Digest username=\"Mufasa\"", "realm=\"http-auth@example.org\"", "uri=\"/dir/index.html\"", "nc=00000001",
            "algorithm=\(algorithm)", "qop=auth,", "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"",
            "cnonce=\"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ\"",
        ] {
            #expect(field.contains(part), "\(part) in \(field)")
        }
    }

    @Test("a challenge without qop is answered in the old form (RFC 2069, RFC 2617 §3.5)")
    func oldForm() throws {
        let challenge = try #require(
            DigestChallenge.best(of: [
                "Digest realm=\"testrealm@host.com\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\""
            ])
        )
        let answer = DigestAnswer(
            challenge: challenge,
            user: "Mufasa",
            password: "CircleOfLife",
            method: "GET",
            uri: "/dir/index.html",
            count: 1,
            clientNonce: "x"
        )
        // MD5(MD5("Mufasa:testrealm@host.com:CircleOfLife"):nonce:MD5("GET:/dir/index.html")), by `md5sum`.
        #expect(answer.fieldValue?.contains("response=\"1949323746fe6a43ef61f9606e7febea\"") == true)
        #expect(answer.fieldValue?.contains("qop") == false)
    }

    @Test("a user name that is not ASCII is sent as in RFC 8187, or hashed if the server requests it")
    func users() throws {
        var challenge = try #require(
            DigestChallenge.best(of: ["Digest \(Self.asked), algorithm=SHA-256, charset=UTF-8"])
        )
        var answer = DigestAnswer(
            challenge: challenge,
            user: "Jäsøn Doe",
            password: "x",
            method: "GET",
            uri: "/",
            count: 255,
            clientNonce: "n"
        )
        #expect(answer.fieldValue?.contains("username*=UTF-8''J%C3%A4s%C3%B8n%20Doe,") == true)
        #expect(answer.fieldValue?.contains("nc=000000ff") == true)
        challenge.hashesUser = true
        answer.challenge = challenge
        let hash = DigestChallenge.Algorithm.sha256.hash("Jäsøn Doe:http-auth@example.org".utf8)
        #expect(answer.fieldValue?.contains("username=\"\(hash)\"") == true)
        #expect(answer.fieldValue?.contains("userhash=true") == true)
        answer.user = "a\"b\\c"
        answer.challenge.hashesUser = false
        #expect(answer.fieldValue?.contains("username=\"a\\\"b\\\\c\"") == true)
    }

    // MARK: Challenges

    static let fields: [(String, [String])] = [
        ("Basic realm=\"a, b\"", ["basic[realm=a, b]"]),
        ("Negotiate", ["negotiate"]), ("Negotiate YWJj==, Basic realm=x", ["negotiate<YWJj==>", "basic[realm=x]"]),
        ("Digest realm=\"r\", nonce=n , , Basic realm=\"s\"", ["digest[nonce=n,realm=r]", "basic[realm=s]"]),
        ("NTLM, Negotiate", ["ntlm", "negotiate"]), (",, Basic", ["basic"]),
        ("Basic realm=\"a\\\"b\"", ["basic[realm=a\"b]"]),
        ("Basic realm = \"x\"", ["basic[realm=x]"]), ("Basic realm=\"open", ["basic"]), ("", []), ("=", []),
        ("Basic realm=a, realm=b", ["basic[realm=a]"]),
    ]

    @Test("authentication fields are parsed as in RFC 9110 §11.6.1", arguments: fields)
    func challenges(_ row: (String, [String])) {
        let read = AuthChallenge.parse(row.0).map { challenge in
            let parameters = challenge.parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            return challenge.scheme + (challenge.token.map { "<\($0)>" } ?? "")
                + (parameters.isEmpty ? "" : "[\(parameters.joined(separator: ","))]")
        }
        #expect(read == row.1, "\(row.0)")
    }

    @Test("the strongest supported challenge is answered, and an unsupported one is ignored")
    func choice() {
        let weak = "Digest \(Self.asked), algorithm=MD5"
        let strong = "Digest \(Self.asked), algorithm=SHA-256"
        #expect(DigestChallenge.best(of: [weak, strong])?.algorithm == .sha256)
        #expect(DigestChallenge.best(of: [strong + ", " + weak])?.algorithm == .sha256)
        #expect(DigestChallenge.best(of: ["Digest \(Self.asked), algorithm=SHA-512-256"]) == nil)
        #expect(DigestChallenge.best(of: ["Digest realm=r, nonce=n, qop=\"other\""]) == nil)
        #expect(DigestChallenge.best(of: ["Basic realm=r"]) == nil)
    }

    @Test("parsing mutated fields never traps, and parsed challenges stay within their bounds")
    func fuzz() {
        var random = SeededRandom(seed: 7616)
        let seeds = Self.fields.map { Array($0.0.utf8) } + [Array("Digest \(Self.asked)".utf8)]
        for _ in 0..<FuzzRounds.count(ordinary: 5_000) {
            var bytes = seeds.randomElement(using: &random) ?? []
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let place = Int.random(in: 0...bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
                case 1 where place < bytes.count: bytes.remove(at: place)
                default: bytes.insert(contentsOf: Array(",\"\\= ".utf8).shuffled(using: &random), at: place)
                }
            }
            let challenges = AuthChallenge.parse(String(decoding: bytes, as: UTF8.self))
            guard challenges.count <= AuthChallenge.maxChallenges,
                challenges.allSatisfy({ $0.parameters.count <= AuthChallenge.maxParameters && !$0.scheme.isEmpty })
            else {
                Issue.record("out of bounds: \(bytes)")
                return
            }
            // Parsed challenges that are written again parse to the same value.
            let again = challenges.map { challenge in
                var copy = challenge
                copy.token = nil
                return copy
            }
            let text = again.map { challenge in
                let parameters = challenge.parameters.map { name, value in
                    "\(name)=\"" + value.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined() + "\""
                }
                return challenge.scheme + " " + parameters.joined(separator: ", ")
            }
            guard AuthChallenge.parse(text.joined(separator: ", ")) == again else {
                Issue.record("written again it is read otherwise: \(text)")
                return
            }
        }
    }

    // MARK: Over sockets

    /// A server that checks Digest answers and accepts each nonce for a number of uses.
    private final class DigestServer: Sendable {
        let nonces = NIOLockedValueBox((current: 0, uses: 0))
        let usesPerNonce: Int
        let algorithm: String
        let qop: String
        let names: Bool

        init(usesPerNonce: Int = 1000, algorithm: String = "SHA-256", qop: String = "auth", namesNext: Bool = false) {
            self.usesPerNonce = usesPerNonce
            self.algorithm = algorithm
            self.qop = qop
            names = namesNext
        }

        func reply(_ request: ReceivedRequest) -> Reply {
            let state = nonces.withLockedValue { $0 }
            let answer = request.fields[.authorization].flatMap { AuthChallenge.parse($0).first }
            guard let answer, let given = DigestChallenge(answer) else { return challenge(stale: false) }
            guard given.nonce == "n\(state.current)", state.uses < usesPerNonce else {
                nonces.withLockedValue { $0 = ($0.current + 1, 0) }
                return challenge(stale: true)
            }
            nonces.withLockedValue { $0.uses += 1 }
            let expected = DigestAnswer(
                challenge: given,
                user: "ada",
                password: "love\"lace",
                method: request.method.rawValue,
                uri: request.target,
                count: UInt32(state.uses + 1),
                clientNonce: answer.parameters["cnonce"] ?? "",
                body: ByteBuffer(bytes: request.body)
            )
            guard let field = expected.fieldValue, AuthChallenge.parse(field).first == answer else {
                return challenge(stale: false)
            }
            let reply = Reply.text("welcome \(request.text)")
            guard names else { return reply }
            nonces.withLockedValue { $0 = ($0.current + 1, 0) }
            return reply.adding(.authenticationInfo, "nextnonce=\"n\(state.current + 1)\"")
        }

        private func challenge(stale: Bool) -> Reply {
            let nonce = nonces.withLockedValue { $0.current }
            return Reply.text("who?", status: .unauthorized).adding(.wwwAuthenticate, "Basic realm=\"r\"").adding(
                .wwwAuthenticate,
                "Digest realm=\"r\", nonce=\"n\(nonce)\", opaque=\"o\", algorithm=\(algorithm), qop=\"\(qop)\""
                    + (stale ? ", stale=true" : "")
            )
        }
    }

    private static let ada = Credentials.digest(user: "ada", password: "love\"lace")

    private func statuses(_ response: Response) -> [Int] { response.hops.map(\.status.code) }

    @Test(
        "one challenge is enough for all requests, which count the uses of its nonce",
        arguments: [
            ("MD5", "auth"), ("MD5-sess", "auth"), ("SHA-256", "auth,auth-int"), ("SHA-256-sess", "auth-int"),
        ]
    )
    func digest(_ algorithm: String, _ qop: String) async throws {
        let server = DigestServer(algorithm: algorithm, qop: qop)
        let site = try await LoopbackOrigin.start { server.reply($0) }
        let client = try plainClient()
        var options = RequestOptions()
        options.credentials = Self.ada
        let first = try await client.post(site.url("/a?b=c"), body: .bytes("body".utf8), options: options)
        #expect(statuses(first) == [401, 200])
        #expect(try await first.text() == "welcome body")
        for _ in 0..<3 { #expect(statuses(try await client.get(site.url("/d"), options: options)) == [200]) }
        await client.shutDown()
        await site.stop()
    }

    @Test("a body with progress reports is in the answer to a challenge with auth-int")
    func progressOfDigest() async throws {
        let server = DigestServer(qop: "auth-int")
        let site = try await LoopbackOrigin.start { server.reply($0) }
        let client = try plainClient { $0.credentials = [Self.origin(site): Self.ada] }
        let body = RequestBody.bytes("body".utf8).onProgress { _ in }
        let response = try await client.post(site.url(), body: body)
        #expect(statuses(response) == [401, 200])
        #expect(try await response.text() == "welcome body")
        await client.shutDown()
        await site.stop()
    }

    @Test("a stale nonce costs one more round trip, and a next nonce costs none")
    func nonces() async throws {
        for (server, expected) in [
            (DigestServer(usesPerNonce: 1), [[401, 200], [401, 200], [401, 200]]),
            (DigestServer(namesNext: true), [[401, 200], [200], [200]]),
        ] {
            let site = try await LoopbackOrigin.start { server.reply($0) }
            let client = try plainClient { $0.credentials = [Self.origin(site): Self.ada] }
            var seen: [[Int]] = []
            for _ in 0..<3 { seen.append(statuses(try await client.get(site.url()))) }
            #expect(seen == expected)
            await client.shutDown()
            await site.stop()
        }
    }

    @Test("an origin that calls every nonce stale gets two answers, and then its refusal is the result")
    func alwaysStale() async throws {
        let server = DigestServer(usesPerNonce: 0)
        let site = try await LoopbackOrigin.start { server.reply($0) }
        let client = try plainClient { $0.credentials = [Self.origin(site): Self.ada] }
        let response = try await client.get(site.url())
        #expect(statuses(response) == [401, 401, 401] && response.status == .unauthorized)
        await client.shutDown()
        await site.stop()
    }

    @Test("wrong credentials are sent once, and a body that can be read only once is an error")
    func wrong() async throws {
        let server = DigestServer()
        let site = try await LoopbackOrigin.start { server.reply($0) }
        let client = try plainClient()
        var options = RequestOptions()
        options.credentials = .digest(user: "ada", password: "guess")
        #expect(statuses(try await client.get(site.url(), options: options)) == [401, 401])
        options.credentials = .digest(user: "ada", password: "other")
        let error = await #expect(throws: BeelineError.self) {
            let body = RequestBody.once(length: 1, AsyncBytes([1]))
            _ = try await client.post(site.url(), body: body, options: options)
        }
        #expect(error?.code == .bodyNotReplayable)
        await client.shutDown()
        await site.stop()
    }

    @Test("wrong credentials are sent once even if each challenge has a new nonce, so that no account is locked")
    func wrongWithNewNonces() async throws {
        let count = NIOLockedValueBox(0)
        let site = try await LoopbackOrigin.start { _ in
            let nonce = count.withLockedValue { count in
                count += 1
                return count
            }
            return Reply(status: .unauthorized, fields: [.wwwAuthenticate: "Digest realm=\"r\", nonce=\"\(nonce)\""])
        }
        let client = try plainClient()
        var options = RequestOptions()
        options.credentials = .digest(user: "ada", password: "guess")
        #expect(statuses(try await client.get(site.url(), options: options)) == [401, 401])
        // The remembered nonce may be stale, and not every server says so.
        #expect(statuses(try await client.get(site.url(), options: options)) == [401, 401])
        await client.shutDown()
        await site.stop()
    }

    @Test("Basic and Bearer credentials are sent at once, and other credentials as the server requests")
    func others() async throws {
        let digest = DigestServer()
        let site = try await LoopbackOrigin.start { request in
            guard request.path == "/basic" else {
                return request.path == "/digest" ? digest.reply(request) : .text(request.fields[.authorization] ?? "-")
            }
            return request.fields[.authorization] == nil
                ? Reply(status: .unauthorized, fields: [.wwwAuthenticate: "Basic realm=\"r\""])
                : .text(request.fields[.authorization] ?? "")
        }
        let client = try plainClient()
        var options = RequestOptions()
        options.credentials = .basic(user: "Aladdin", password: "open sesame")
        #expect(try await client.get(site.url(), options: options).text() == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        options.credentials = .bearer("mF_9.B5f-4.1JqM")
        #expect(try await client.get(site.url(), options: options).text() == "Bearer mF_9.B5f-4.1JqM")
        let own = try await client.get(site.url(), fields: [.authorization: "Own x"], options: options).text()
        #expect(own == "Own x", "the request's own field goes first")
        options.credentials = .any(user: "ada", password: "love\"lace")
        let asked = try await client.get(site.url("/basic"), options: options)
        #expect(statuses(asked) == [401, 200])
        await client.shutDown()
        let another = try plainClient()
        #expect(statuses(try await another.get(site.url("/digest"), options: options)) == [401, 200])
        await another.shutDown()
        await site.stop()
    }

    @Test("credentials do not follow a redirect to another origin unless the options say so")
    func crossing() async throws {
        let lab = try await ClientLab { request in
            request.path == "/go"
                ? .redirect(to: request.query["to"] ?? "") : .text(request.fields[.authorization] ?? "-")
        }
        var options = RequestOptions()
        options.credentials = .bearer("secret")
        let there = lab.url("a.test", "/go?to=\(lab.url("b.test", "/end"))")
        #expect(try await lab.client.get(there, options: options).text() == "-")
        #expect(
            try await lab.client.get(lab.url("a.test", "/go?to=/end"), options: options).text() == "Bearer secret",
            "the origin stays"
        )
        options.credentialsFollowRedirects = true
        #expect(try await lab.client.get(there, options: options).text() == "Bearer secret")
        let mine = try await lab.client.get(there, fields: [.authorization: "Own x"], options: options).text()
        #expect(mine == "Own x")
        await lab.stop()
    }

    private static func origin(_ site: LoopbackOrigin) -> Origin {
        Origin(scheme: .http, host: Host(site.endpoint.address), port: site.port)
    }
}
