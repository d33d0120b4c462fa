// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import HTTPTypes
import NIOCore
import Names
import Testing

@Suite("Faulty servers end in a defined error and leave no socket", .timeLimit(.minutes(1)))
struct BadServerTests {
    /// The behaviour of a server, and the error code that the exchange ends with; nil: success.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reply: @Sendable (Gate) -> Reply
        let code: DirectHTTPError.Code?

        init(_ what: String, code: DirectHTTPError.Code?, reply: @escaping @Sendable (Gate) -> Reply) {
            testDescription = what
            self.code = code
            self.reply = reply
        }
    }

    static let cases: [Case] = [
        Case("never answers", code: .idleTimeout) { .raw(.wait($0)) },
        Case("falls silent in the head", code: .idleTimeout) { .raw("HTTP/1.1 200 OK\r\nX: ", .wait($0)) },
        Case("falls silent in the body", code: .idleTimeout) {
            .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", .wait($0))
        },
        Case("closes without an answer", code: .connectionLost) { _ in .raw(ending: .hangUp) },
        Case("resets", code: .connectionLost) { _ in .raw(ending: .reset) },
        Case("closes in the head", code: .connectionLost) { _ in .raw("HTTP/1.1 200 OK\r\nContent-", ending: .hangUp) },
        Case("closes in the body", code: .connectionLost) { _ in
            Reply(fields: [.contentLength: "100"], body: ["half"], ending: .hangUp)
        },
        Case("closes in a chunked body", code: .connectionLost) { _ in
            .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe", ending: .hangUp)
        },
        // As in curl, the promised bytes are the response. The client discards the rest and closes the connection.
        Case("sends more than Content-Length", code: nil) { _ in Reply(fields: [.contentLength: "3"], body: ["abcdef"])
        },
        Case("speaks SMTP", code: .malformedResponse) { _ in .raw("220 ready for mail\r\n\r\n", ending: .hangUp) },
        Case("gives two lengths", code: .malformedResponse) { _ in
            .raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", ending: .hangUp)
        },
        Case("breaks a chunk", code: .malformedResponse) { _ in
            .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", ending: .hangUp)
        },
        Case("has a head without an end", code: .responseTooLarge) { _ in
            .takeover { connection in
                try await connection.send("HTTP/1.1 200 OK\r\n")
                try await connection.sendEndlessly("X-Padding: 0123456789abcdef\r\n")
            }
        },
        Case("sends informational responses without end", code: .malformedResponse) { _ in
            .takeover { try await $0.sendEndlessly("HTTP/1.1 103 Early Hints\r\n\r\n") }
        },
        Case("switches protocols unasked", code: .malformedResponse) { _ in
            .raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", ending: .hangUp)
        },
        Case("announces gzip and does not send it", code: .undecodableBody) { _ in
            Reply(fields: [.contentEncoding: "gzip"], body: ["this is not gzip"])
        },
        Case("cuts a gzip body short", code: .undecodableBody) { _ in
            Reply(fields: [.contentEncoding: "gzip"], body: [.bytes([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b])])
        },
    ]

    @Test("a faulty response over TCP ends with its error code", arguments: cases)
    func plain(_ testCase: Case) async throws {
        try await check(testCase, tls: false)
    }

    @Test("a faulty response over TLS ends with its error code", arguments: cases)
    func secured(_ testCase: Case) async throws {
        try await check(testCase, tls: true)
    }

    private func check(_ testCase: Case, tls: Bool) async throws {
        let authority = try TestAuthority()
        let gate = Gate()
        let server = try await LoopbackOrigin.start(
            tls: tls ? ServerTLS(try authority.certificate(for: "a.test")) : nil
        ) { _ in testCase.reply(gate) }
        let engine = Engine()
        var settings = TLSSettings()
        settings.rootPEMs = [authority.rootPEM]
        var limits = TimeLimits()
        limits.idle = testCase.code == .idleTimeout ? .milliseconds(200) : .seconds(20)
        let request = try PreparedRequest(.get, HTTPURL("\(tls ? "https" : "http")://a.test:\(server.port)/"))
        var code: DirectHTTPError.Code?
        do {
            let source = EndpointList(server.endpoints)
            let response = try await engine.exchange(request, from: source, tls: settings, limits: limits)
            _ = try await response.body.collect(upTo: 1 << 20)
        } catch {
            code = error.code
            #expect(!error.message.isEmpty)
        }
        #expect(code == testCase.code)
        // A failed exchange closes its socket at once, without a shutdown. Only a complete body that cannot be decoded
        // leaves its connection reusable.
        let isKept = testCase.code == .undecodableBody
        try await server.connections { ($0.open == 0) != isKept }
        gate.open()
        await engine.shutDown()
        await server.stop()
        #expect(OpenDescriptors.sockets(connectedTo: server.endpoints) == 0)
    }

    @Test(
        "an invalid certificate is rejected before the request is sent",
        arguments: [CertificateFlaw.expired, .notYetValid, .selfSigned, .incompleteChain]
    )
    func certificates(flaw: CertificateFlaw) async throws {
        let authority = try TestAuthority()
        let certificate = try authority.certificate(for: ["a.test"], flaw: flaw)
        let server = try await LoopbackOrigin.start(tls: ServerTLS(certificate)) { _ in .text("never") }
        let engine = Engine()
        var settings = TLSSettings()
        settings.rootPEMs = [authority.rootPEM]
        let request = try PreparedRequest(.get, HTTPURL("https://a.test:\(server.port)/"))
        let error = await #expect(throws: DirectHTTPError.self) {
            _ = try await engine.exchange(request, from: EndpointList(server.endpoints), tls: settings)
        }
        #expect(error?.code == .certificateRejected)
        #expect(server.requests.isEmpty)
        settings.verifiesCertificate = false
        let response = try await engine.exchange(request, from: EndpointList(server.endpoints), tls: settings)
        #expect(response.head.status == .ok, "-k takes what is shown")
        await engine.shutDown()
        await server.stop()
    }

    @Test("a certificate for the dialled address is rejected for the name")
    func addressCertificate() async throws {
        let authority = try TestAuthority()
        let certificate = try authority.certificate(for: "127.0.0.1", "127.0.0.2")
        let server = try await LoopbackOrigin.start(tls: ServerTLS(certificate)) { _ in .text("hello") }
        let engine = Engine()
        var settings = TLSSettings()
        settings.rootPEMs = [authority.rootPEM]
        let named = try PreparedRequest(.get, HTTPURL("https://a.test:\(server.port)/"))
        let error = await #expect(throws: DirectHTTPError.self) {
            _ = try await engine.exchange(named, from: EndpointList(server.endpoints), tls: settings)
        }
        #expect(error?.code == .certificateRejected)
        #expect(server.requests.isEmpty)
        let literal = try PreparedRequest(.get, HTTPURL("https://127.0.0.1:\(server.port)/"))
        let response = try await engine.exchange(literal, from: EndpointList(server.endpoints), tls: settings)
        #expect(response.head.status == .ok, "for an origin with an address, it is valid")
        await engine.shutDown()
        await server.stop()
    }

    @Test("a cancelled request closes its socket in every phase", arguments: ["connect", "head", "body"])
    func cancellation(phase: String) async throws {
        let gate = Gate()
        let hole = try BlackHole()
        let server = try await LoopbackOrigin.start { request in
            phase == "head" ? .raw(.wait(gate)) : .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", .wait(gate))
        }
        let engine = Engine()
        let endpoints = phase == "connect" ? [hole.endpoint] : server.endpoints
        let request = try PreparedRequest(.get, HTTPURL("http://a.test:\(server.port)/"))
        let task = Task {
            let response = try await engine.exchange(request, from: EndpointList(endpoints))
            return try await response.body.collect(upTo: 100)
        }
        if phase != "connect" { try await gate.arrivals(atLeast: 1) }
        task.cancel()
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await task.value }
        #expect(error?.code == .cancelled)
        try await server.connections { $0.open == 0 }
        gate.open()
        await engine.shutDown()
        await server.stop()
        hole.close()
        #expect(OpenDescriptors.sockets(connectedTo: endpoints) == 0)
    }

    @Test("one deadline covers the whole request, including its body")
    func deadline() async throws {
        let gate = Gate()
        let server = try await LoopbackOrigin.start { _ in
            .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", .wait(gate))
        }
        let engine = Engine()
        var limits = TimeLimits()
        limits.total = .seconds(2)
        let request = try PreparedRequest(.get, HTTPURL("http://a.test:\(server.port)/"))
        let response = try await engine.exchange(request, from: EndpointList(server.endpoints), limits: limits)
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await response.body.collect(upTo: 100) }
        #expect(error?.code == .deadlineExceeded)
        gate.open()
        await engine.shutDown()
        await server.stop()
    }
}
