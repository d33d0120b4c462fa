// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import NIOConcurrencyHelpers
import Testing

@Suite("The form of a request: target, version, Host, multipart", .timeLimit(.minutes(1)))
struct RequestFormTests {
    @Test("another request target is sent as given, and only to the first URL")
    func target() async throws {
        let site = try await LoopbackOrigin.start { request in
            request.target == "*" ? .redirect(to: "/next") : .text(request.target)
        }
        let client = try plainClient()
        var options = RequestOptions()
        options.wire.target = "*"
        let response = try await client.send(.options, site.url("/x"), options: options)
        #expect(try await response.text() == "/next")
        #expect(site.requests.map(\.target) == ["*", "/next"])
        options.wire.target = "/a b"
        let error = await #expect(throws: BeelineError.self) { try await client.get(site.url(), options: options) }
        #expect(error?.code == .invalidRequest)
        await client.shutDown()
        await site.stop()
    }

    @Test("the request of an error over HTTP/2 shows no Transfer-Encoding, which only HTTP/1.1 has")
    func requestOfAnError() async throws {
        let authority = try TestAuthority()
        var tls = ServerTLS(try authority.certificate(for: "a.test"))
        tls.applicationProtocols = ["h2"]
        // Closes the connection after the head of the request.
        let server = try await RawServer.start(tls: tls) { connection in
            _ = try await connection.receive(count: RawFrame.preface.count)
            try await connection.send(RawFrame(.settings).bytes)
            _ = try await connection.receiveFrame { $0.kind == .headers }
        }
        let client = try plainClient { configuration in
            configuration.tls.trustsSystemRoots = false
            configuration.tls.rootPEMs = [authority.rootPEM]
            if let host = try? Host("a.test") { configuration.pinned = [.init(host): [IPAddress(v4: 0x7f00_0001)]] }
        }
        let body = RequestBody.stream(length: nil) { AsyncBytes([1]) }
        let error = await #expect(throws: BeelineError.self) {
            try await client.post("https://a.test:\(server.port)/", body: body)
        }
        let head = try #require(error?.sentRequest?.head)
        #expect(head.method == .post && head.headerFields[.transferEncoding] == nil)
        await client.shutDown()
        await server.stop()
    }

    @Test(
        "the request of a hop has no TE with codings and, over HTTP/2, no field of the connection, as sent",
        arguments: ["http/1.1", "h2"]
    )
    func fieldsAsSent(_ version: String) async throws {
        let lab = try await ClientLab(protocols: [version]) { _ in .text("") }
        let name = try #require(HTTPField.Name("Keep-Alive"))
        let response = try await lab.client.get(lab.url("a.test"), fields: [.te: "gzip", name: "x"])
        let fields = response.hop.request.headerFields
        let sent = try #require(lab.site.requests.first?.fields)
        #expect(fields[.te] == nil && sent[.te] == nil)
        #expect(fields[name] == (version == "h2" ? nil : "x") && sent[name] == fields[name])
        await lab.stop()
    }

    @Test("a request of HTTP/1.0 has its connection for itself, and no body of unknown length")
    func oldVersion() async throws {
        let site = try await LoopbackOrigin.start { .text($0.version) }
        let client = try plainClient()
        var options = RequestOptions()
        options.wire.sendsHTTP10 = true
        for _ in 0..<2 {
            let response = try await client.get(site.url(), options: options)
            #expect(try await response.text() == "HTTP/1.0" && !response.hop.isReused)
        }
        let body = RequestBody.stream(length: nil) { AsyncBytes([1]) }
        let error = await #expect(throws: BeelineError.self) {
            try await client.post(site.url(), body: body, options: options)
        }
        #expect(error?.code == .invalidRequest)
        await client.shutDown()
        await site.stop()
    }

    @Test("a Content-Length that is too long can be ignored")
    func wrongLength() async throws {
        let site = try await LoopbackOrigin.start { _ in
            .raw(.text("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhi"), ending: .hangUp)
        }
        let client = try plainClient()
        var options = RequestOptions()
        options.wire.ignoresContentLength = true
        #expect(try await client.get(site.url(), options: options).text() == "hi")
        await client.shutDown()
        await site.stop()
    }

    @Test("cookieHost sends the jar's cookies of another host, until a redirect to another origin")
    func cookieHost() async throws {
        let site = try await LoopbackOrigin.start {
            .text("\($0.authority ?? "")|\($0.fields[.cookie] ?? "-")").adding(.setCookie, "new=1; Domain=foo.test")
        }
        let client = try plainClient()
        let jar = try #require(client.jar)
        let url = try HTTPURL("http://www.foo.test/")
        jar.store(["a=1"], from: url)
        var options = RequestOptions()
        options.cookieHost = url.host
        let fields: HTTPFields = [try #require(HTTPField.Name("Host")): "www.foo.test"]
        #expect(try await client.get(site.url(), fields: fields, options: options).text() == "www.foo.test|a=1")
        #expect(jar.cookies(for: url).map(\.name) == ["a", "new"])
        #expect(try await client.get(site.url(), fields: fields).text() == "www.foo.test|-")
        await client.shutDown()
        await site.stop()
    }

    @Test("parts of a form have encodings, fields of their own, and forms as content")
    func multipart() async throws {
        let site = try await LoopbackOrigin.start { .text($0.text) }
        let client = try plainClient()
        var form = MultipartForm()
        form.escaping = .backslash
        var part = MultipartForm.Part("a\"\\", .bytes(String(repeating: "x", count: 58).utf8))
        part.encoding = .base64
        part.fields = [.contentLanguage: "en"]
        form.parts.append(part)
        part = MultipartForm.Part("q", .bytes("ü=1 \r\nend ".utf8))
        part.encoding = .quotedPrintable
        form.parts.append(part)
        var inner = MultipartForm()
        inner.mediaType = "multipart/mixed"
        inner.add("", .bytes("in".utf8), fileName: "f.txt")
        inner.parts[0].name = nil
        form.add("files", inner.body)
        let seen = try await client.post(site.url(), body: form.body).text()
        let (mark, innerMark) = (form.boundary, inner.boundary)
        let line = String(repeating: "eHh4", count: 19)
        let expected = [
            "--\(mark)", "Content-Disposition: form-data; name=\"a\\\"\\\\\"", "Content-Transfer-Encoding: base64",
            "Content-Language: en", "", line, "eA==", "--\(mark)", "Content-Disposition: form-data; name=\"q\"",
            "Content-Transfer-Encoding: quoted-printable", "", "=C3=BC=3D1=20", "end=20", "--\(mark)",
            "Content-Disposition: form-data; name=\"files\"", "Content-Type: multipart/mixed; boundary=\(innerMark)",
            "",
            "--\(innerMark)", "Content-Disposition: attachment; filename=\"f.txt\"", "", "in", "--\(innerMark)--", "",
            "--\(mark)--", "",
        ].joined(separator: "\r\n")
        #expect(seen == expected)
        part.body = .bytes("ü".utf8)
        part.encoding = .sevenBit
        form.parts = [part]
        let error = await #expect(throws: BeelineError.self) { try await client.post(site.url(), body: form.body) }
        #expect(error?.code == .bodySourceFailed)
        await client.shutDown()
        await site.stop()
    }
}
