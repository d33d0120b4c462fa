// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import Names
import Testing

@Suite(.timeLimit(.minutes(1))) struct LoopbackOriginTests {
    let authority: TestAuthority

    init() throws {
        authority = try TestAuthority()
    }

    @Test func twoNamesHaveTwoCertificatesOnOneAddress() async throws {
        let origin = try await LoopbackOrigin.start(
            tls: ServerTLS(try authority.certificate(for: "a.test"), try authority.certificate(for: "b.test"))
        ) { .text($0.connection.serverName ?? "no name") }
        for name in ["a.test", "b.test"] {
            #expect(try await get(origin.endpoint, as: name).hasSuffix("\r\n\r\n\(name)"))
        }
        // For an unknown name the origin presents its first certificate, which a client that verifies names refuses.
        await #expect(throws: (any Error).self) { _ = try await get(origin.endpoint, as: "c.test") }
        try await origin.connections { $0.accepted == 3 && $0.open == 0 }
        #expect(origin.requests.map(\.connection.serverName) == ["a.test", "b.test"])
        await origin.stop()
    }

    @Test func oneNameIsServedFromTwoAddressesOnOnePort() async throws {
        let origin = try await LoopbackOrigin.start(addresses: ["127.0.0.1", "127.0.0.2", "::1"]) {
            .text("\($0.connection.local.address)")
        }
        #expect(Set(origin.endpoints.map(\.port)).count == 1)
        for endpoint in origin.endpoints {
            #expect(try await get(endpoint).hasSuffix("\r\n\r\n\(endpoint.address)"))
        }
        await origin.stop()
    }

    @Test(arguments: CertificateFlaw.allCases.filter { $0 != .none })
    func aFlawedCertificateIsRefused(flaw: CertificateFlaw) async throws {
        let certificate = try authority.certificate(for: "a.test", flaw: flaw)
        let origin = try await LoopbackOrigin.start(tls: ServerTLS(certificate)) { _ in .text("reached") }
        await #expect(throws: (any Error).self) { _ = try await get(origin.endpoint, as: "a.test") }
        #expect(origin.requests.isEmpty)
        await origin.stop()
    }

    @Test func anImpostorIsRefused() async throws {
        let impostor = try TestAuthority()
        let origin = try await LoopbackOrigin.start(tls: ServerTLS(try impostor.certificate(for: "a.test"))) { _ in
            .text("reached")
        }
        await #expect(throws: (any Error).self) { _ = try await get(origin.endpoint, as: "a.test") }
        try await origin.connections { $0.failedHandshakes == 1 && $0.open == 0 }
        await origin.stop()
    }

    @Test func aRequestIsRecordedAsItWasSent() async throws {
        let origin = try await LoopbackOrigin.start { _ in .status(.noContent) }
        let head =
            "POST /p?q=a%20b HTTP/1.1\r\nHost: x.test\r\nx-ODD: 1\r\nCookie: a=1; b=2\r\nConnection: close\r\nContent-Length: 3\r\n\r\n"
        let answer = try await exchange(with: origin.endpoint, request: head + "abc")
        #expect(answer == "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        let request = try #require(origin.requests.first)
        #expect(request.method == .post && request.path == "/p" && request.query == ["q": "a b"])
        #expect(request.authority == "x.test" && request.text == "abc" && request.bodySize == 3)
        #expect(request.fields.map(\.name.rawName) == ["Host", "x-ODD", "Cookie", "Connection", "Content-Length"])
        #expect(request.cookies == ["a": "1", "b": "2"])
        #expect(request.rawHead == head)
        #expect(request.connection.number == 1 && request.connection.serverName == nil)
        await origin.stop()
    }

    @Test func aChunkedBodyWithTrailersIsRead() async throws {
        let origin = try await LoopbackOrigin.start { .text($0.text + ($0.trailers[.contentLanguage] ?? "")) }
        let request =
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            + "3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nContent-Language: zu\r\n\r\n"
        #expect(try await exchange(with: origin.endpoint, request: request).hasSuffix("\r\n\r\nabcdezu"))
        await origin.stop()
    }

    @Test(arguments: [
        ("a length", Reply.text("ab"), "Content-Length: 2\r\nConnection: close\r\n\r\nab"),
        (
            "chunks", .chunks("ab", "c"),
            "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"
        ),
        ("trailers", .chunks("a", trailers: [.eTag: "x"]), "\r\n\r\n1\r\na\r\n0\r\nETag: x\r\n\r\n"),
        ("until close", Reply(body: ["ab"], framing: .untilClose), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nab"),
        (
            "too short", Reply(fields: [.contentLength: "9"], body: ["ab"], ending: .hangUp),
            "Content-Length: 9\r\n\r\nab"
        ),
        (
            "too long", Reply(fields: [.contentLength: "1"], body: ["ab"]),
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nab"
        ),
        ("no last chunk", Reply(body: ["ab"], framing: .chunked, ending: .hangUp), "chunked\r\n\r\n2\r\nab\r\n"),
        ("raw bytes", .raw("not ", "HTTP"), "not HTTP"),
        (
            "interim", Reply(framing: .length, interim: [HTTPResponse(status: .earlyHints)]),
            "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK"
        ),
        ("zeros", Reply(body: [.zeros(3)]), "Content-Length: 3\r\nConnection: close\r\n\r\n\0\0\0"),
        ("a takeover", .takeover { try await $0.send("mine") }, "mine"),
        (
            "redirect", .redirect(to: "/x"),
            "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        ),
    ])
    func aReplyIsSentAsDescribed(_: String, reply: Reply, expected: String) async throws {
        let origin = try await LoopbackOrigin.start { _ in reply }
        let answer = try await exchange(with: origin.endpoint, request: "GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
        #expect(answer.contains(expected), "\(answer.debugDescription)")
        await origin.stop()
    }

    @Test func aPieceBehindAGateWaits() async throws {
        let gate = Gate()
        let origin = try await LoopbackOrigin.start { _ in .chunks("early", .wait(gate), "late") }
        let connection = try await RawConnection.connect(to: origin.endpoint)
        try await connection.send("GET / HTTP/1.1\r\n\r\n")
        _ = try await connection.receive(until: "early\r\n")
        try await gate.arrivals(atLeast: 1)
        gate.open()
        #expect(try await connection.receive(until: "late\r\n0\r\n\r\n")?.count == 14)
        await connection.close()
        await origin.stop()
    }

    @Test func aConnectionIsKeptAndHeadHasNoBody() async throws {
        let origin = try await LoopbackOrigin.start { _ in .text("body") }
        let connection = try await RawConnection.connect(to: origin.endpoint)
        try await connection.send("HEAD / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n")
        _ = try await connection.receive(until: "Content-Length: 4\r\n\r\nHTTP/1.1 200 OK\r\n")
        _ = try await connection.receive(until: "\r\n\r\nbody")
        #expect(origin.connections.accepted == 1 && origin.connections.open == 1)
        await connection.close()
        try await origin.connections { $0.open == 0 }
        await origin.stop()
    }

    @Test func theHeadCanBeAnsweredWithoutTheBody() async throws {
        let origin = try await LoopbackOrigin.start { request in
            request.path == "/refused" ? .text("no", status: .contentTooLarge) : nil
        } handler: { request in
            .text("\(request.bodySize)")
        }
        let expecting = "Content-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
        let refused = try await exchange(with: origin.endpoint, request: "POST /refused HTTP/1.1\r\n" + expecting)
        #expect(refused.hasPrefix("HTTP/1.1 413 "))
        let taken = try await exchange(with: origin.endpoint, request: "POST /taken HTTP/1.1\r\n" + expecting + "ab")
        #expect(taken.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"))
        await origin.stop()
    }

    @Test func stopEndsWhatStillRuns() async throws {
        let origin = try await LoopbackOrigin.start { _ in
            try await Gate().wait()
            return .text("never")
        }
        let connection = try await RawConnection.connect(to: origin.endpoint)
        try await connection.send("GET / HTTP/1.1\r\n\r\n")
        try await origin.requests(atLeast: 1)
        await origin.stop()
        #expect(origin.connections.open == 0)
        #expect((try? await connection.receive()) == nil)
        await connection.close()
    }

    @Test(arguments: ["192.0.2.1", "0.0.0.0", "::", "localhost", ""])
    func onlyLoopbackAddressesAreListenedOn(address: String) async {
        await #expect(throws: TestingError.self) {
            _ = try await LoopbackOrigin.start(addresses: [address]) { _ in .text("") }
        }
    }

    /// Sends a request that asks to close the connection, and returns the complete response.
    private func get(_ endpoint: Endpoint, as name: String? = nil) async throws -> String {
        let tls = name.map { RawConnection.ClientTLS($0, trusting: authority) }
        return try await exchange(with: endpoint, request: "GET / HTTP/1.1\r\nConnection: close\r\n\r\n", tls: tls)
    }

    private func exchange(
        with endpoint: Endpoint,
        request: String,
        tls: RawConnection.ClientTLS? = nil
    ) async throws -> String {
        let connection = try await RawConnection.connect(to: endpoint, tls: tls)
        try await connection.send(request)
        var bytes: [UInt8] = []
        while let more = try await connection.receive() { bytes += more }
        await connection.close()
        return String(decoding: bytes, as: UTF8.self)
    }
}
