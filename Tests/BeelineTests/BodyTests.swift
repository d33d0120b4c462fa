// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import DirectHTTP
import Foundation
import NIOConcurrencyHelpers
import NIOCore
import Testing

@Suite("Bodies: JSON, forms, files, progress, Expect", .timeLimit(.minutes(1)))
struct BodyTests {
    private struct Person: Codable, Hashable {
        var name: String
        var age: Int
    }

    @Test("a value is sent and received as JSON, and a body of another type is an error")
    func json() async throws {
        let site = try await LoopbackOrigin.start { request in
            request.path == "/broken" ? .text("{") : .bytes(request.body, type: request.fields[.contentType] ?? "none")
        }
        let client = try plainClient()
        let ada = Person(name: "Ada", age: 36)
        for response in [
            try await client.post(site.url(), json: ada), try await client.put(site.url(), json: ada),
            try await client.patch(site.url(), json: ada), try await client.delete(site.url(), body: .json(ada)),
        ] {
            #expect(response.fields[.contentType] == "application/json")
            #expect(try await response.decode(Person.self) == ada)
        }
        #expect(site.requests.map(\.method) == [.post, .put, .patch, .delete])
        let broken = try await client.get(site.url("/broken"))
        let error = await #expect(throws: BeelineError.self) { try await broken.decode(Person.self) }
        #expect(error?.code == .decodingFailed)
        let large = try await client.post(site.url(), json: ada)
        let bound = await #expect(throws: BeelineError.self) { try await large.decode(Person.self, upTo: 3) }
        #expect(bound?.code == .responseTooLarge)
        let unwritable = await #expect(throws: BeelineError.self) {
            try await client.post(site.url(), json: Double.nan)
        }
        #expect(unwritable?.code == .encodingFailed)
        #expect(try await client.head(site.url()).status == .ok)
        await client.shutDown()
        await site.stop()
    }

    @Test("a body that is read again after its end is an error, and not an empty body", arguments: [false, true])
    func readTwice(fromInterceptor: Bool) async throws {
        let site = try await LoopbackOrigin.start { _ in .text("once") }
        let client = try plainClient { if fromInterceptor { $0.interceptors = [BodyKeeper()] } }
        let response = try await client.get(site.url())
        #expect(try await response.text() == "once")
        let second = await #expect(throws: BeelineError.self) { try await response.collect(upTo: 100) }
        #expect(second?.code == .invalidRequest && second?.message.contains("already read") == true)
        let iterated = await #expect(throws: DirectHTTPError.self) {
            for try await piece in response.body { Issue.record("\(piece)") }
        }
        #expect(iterated?.code == .invalidRequest)
        await response.body.discard()
        let cut = try await client.get(site.url())
        let first = await #expect(throws: BeelineError.self) { try await cut.collect(upTo: 1) }
        let rest = await #expect(throws: BeelineError.self) { try await cut.collect(upTo: 100) }
        #expect(first?.code == .responseTooLarge && rest?.code == .invalidRequest, "the rest is not the body")
        // An iterator that has ended stays at its end.
        var pieces = try await client.get(site.url()).body.makeAsyncIterator()
        #expect(try await pieces.next() == ByteBuffer(string: "once"))
        #expect(try await pieces.next() == nil)
        #expect(try await pieces.next() == nil)
        await client.shutDown()
        await site.stop()
    }

    @Test("a stream that can be read only once is not sent empty by a second request", arguments: [false, true])
    func sentTwice(byInterceptor: Bool) async throws {
        let site = try await LoopbackOrigin.start { .text($0.text) }
        let client = try plainClient { if byInterceptor { $0.interceptors = [Repeater()] } }
        let (pieces, source) = AsyncStream.makeStream(of: ByteBuffer.self)
        source.yield(ByteBuffer(string: "once"))
        source.finish()
        let body = RequestBody.once(length: nil, pieces)
        if !byInterceptor { #expect(try await client.post(site.url(), body: body).text() == "once") }
        let error = await #expect(throws: BeelineError.self) { try await client.post(site.url(), body: body) }
        #expect(error?.code == .bodyNotReplayable)
        #expect(site.requests.map(\.text) == ["once"])
        await client.shutDown()
        await site.stop()
    }

    @Test("a form is encoded as browsers encode it, and the caller's Content-Type replaces that of the body")
    func form() async throws {
        let site = try await LoopbackOrigin.start { .text("\($0.fields[.contentType] ?? "")|\($0.text)") }
        let client = try plainClient()
        let form = RequestBody.form(["a b": "1+1=2", "ü": "&", "empty": ""])
        #expect(
            try await client.post(site.url(), body: form).text()
                == "application/x-www-form-urlencoded|a+b=1%2B1%3D2&%C3%BC=%26&empty="
        )
        let own = try await client.post(site.url(), fields: [.contentType: "text/x-own"], body: form).text()
        #expect(own.hasPrefix("text/x-own|"))
        await client.shutDown()
        await site.stop()
    }

    /// Adds the number of bytes of a body in memory.
    private struct Counting: Interceptor {
        func intercept(_ request: ClientRequest, next: InterceptorNext) async throws -> Response {
            var request = request
            request.fields[.referer] = request.body.bytesInMemory.map { "\($0.readableBytes)" } ?? "none"
            return try await next(request)
        }
    }

    @Test("a body with progress, a pace or an unknown length is still in memory for interceptors")
    func progressInMemory() async throws {
        let site = try await LoopbackOrigin.start { .text("\($0.fields[.referer] ?? "-") \($0.text)") }
        let client = try plainClient { $0.interceptors = [Counting()] }
        let body = RequestBody.bytes("body".utf8)
        let paced = body.paced(inPiecesOf: 2) { return { _ in } }
        for body in [body, body.onProgress { _ in }, paced, paced.onProgress { _ in }, body.withoutLength()] {
            #expect(try await client.post(site.url(), body: body).text() == "4 body")
        }
        let stream = RequestBody.stream(length: 4) { AsyncBytes(Array("body".utf8)) }.onProgress { _ in }
        #expect(try await client.post(site.url(), body: stream).text() == "none body")
        await client.shutDown()
        await site.stop()
    }

    @Test("the pace of an upload restarts when the body is sent again")
    func paceOfARepeatedUpload() async throws {
        let site = try await LoopbackOrigin.start { request in
            request.path == "/moved" ? .redirect(to: "/here", status: .temporaryRedirect) : .text("\(request.bodySize)")
        }
        let client = try plainClient()
        let uploads = NIOLockedValueBox<[[Int64]]>([])
        let body = RequestBody.bytes([UInt8](repeating: 0x78, count: 40_000)).paced(inPiecesOf: 16 * 1024) {
            let upload = uploads.withLockedValue { uploads in
                uploads.append([])
                return uploads.count - 1
            }
            return { sent in uploads.withLockedValue { $0[upload].append(sent) } }
        }
        #expect(try await client.post(site.url("/moved"), body: body).text() == "40000")
        let counts: [Int64] = [16_384, 32_768, 40_000]
        // The response may arrive before the pace of the last piece, which nothing follows.
        let found = uploads.withLockedValue { $0 }
        #expect(found.count == 2 && found.allSatisfy { $0.count >= 2 && counts.starts(with: $0) }, "\(found)")
        await client.shutDown()
        await site.stop()
    }

    @Test("a multipart form streams its files with a known length, and is sent again after a redirect")
    func multipart() async throws {
        let folder = try TemporaryFolder()
        let photo = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
        try photo.write(to: folder.url("photo.jpg"))
        let site = try await LoopbackOrigin.start { request in
            request.path == "/moved" ? .redirect(to: "/here", status: .permanentRedirect) : .text("\(request.bodySize)")
        }
        let client = try plainClient()
        var form = MultipartForm([], boundary: "B")
        form.add("title", "Sun\"set")
        form.add("photo", file: folder.path("photo.jpg"))
        form.add("raw", .stream(length: 2) { AsyncBytes(Array("hi".utf8)) }, fileName: "x")
        let expected = """
            --B\r\nContent-Disposition: form-data; name="title"\r\n\r\nSun"set\r\n\
            --B\r\nContent-Disposition: form-data; name="photo"; filename="photo.jpg"\r\n\
            Content-Type: image/jpeg\r\n\r\n
            """
        let response = try await client.post(site.url("/moved"), body: form.body)
        let size = try form.body.contentLength()
        #expect(try await response.text() == "\(size ?? -1)")
        let received = try #require(site.requests.last)
        #expect(received.fields[.contentLength] == "\(size ?? -1)")
        #expect(received.fields[.contentType] == "multipart/form-data; boundary=B")
        #expect(received.body.starts(with: Array(expected.utf8) + photo.prefix(1000)))
        let end = "\r\n--B\r\nContent-Disposition: form-data; name=\"raw\"; filename=\"x\"\r\n\r\nhi\r\n--B--\r\n"
        #expect(String(decoding: received.body.suffix(end.utf8.count), as: UTF8.self) == end)
        #expect(site.requests.map(\.bodyHash).first == received.bodyHash)
        form.add("unknown", .stream(length: nil) { AsyncBytes([1]) })
        #expect(try form.body.contentLength() == nil && form.body.isReplayable)
        form.add("pipe", .once(length: 1, AsyncBytes([1])))
        #expect(!form.body.isReplayable)
        await client.shutDown()
        await site.stop()
    }

    @Test("a part's name and type cannot inject header lines")
    func partInjection() async throws {
        let site = try await LoopbackOrigin.start { .text($0.text) }
        let client = try plainClient()
        var body = RequestBody.bytes([])
        body.contentType = "text/plain\r\nX-Evil: 1"
        let form = MultipartForm([.init("a\"b\r\nc", body, fileName: "x\n\"y\"")], boundary: "B")
        let head = "--B\r\nContent-Disposition: form-data; name=\"a%22b%0D%0Ac\"; filename=\"x%0A%22y%22\"\r\n"
        #expect(
            try await client.post(site.url(), body: form.body).text()
                == head + "Content-Type: text/plainX-Evil: 1\r\n\r\n\r\n--B--\r\n"
        )
        await client.shutDown()
        await site.stop()
    }

    @Test("a body is decoded from every coding that the client offers", arguments: Compression.allCases)
    func codings(_ coding: Compression) async throws {
        guard ContentCoding(coding.rawValue) != nil else { return }
        let text = String(repeating: "plain text, ", count: 20_000)
        let site = try await LoopbackOrigin.start { _ in .text(text).compressed(coding) }
        let client = try plainClient()
        #expect(try await client.get(site.url()).text() == text)
        var configuration = ClientConfiguration()
        configuration.decodesContent = false
        let plain = try BeelineClient(configuration)
        #expect(try await plain.get(site.url()).fields[.contentEncoding] == coding.rawValue)
        for client in [client, plain] { await client.shutDown() }
        await site.stop()
    }

    @Test("a compressed body that was read in part is not decoded from its middle, and the error says why")
    func secondIterator() async throws {
        let text = String(repeating: "plain text, ", count: 20_000)
        let site = try await LoopbackOrigin.start { _ in .text(text).compressed(.gzip) }
        let client = try plainClient()
        let response = try await client.get(site.url())
        var pieces = response.body.makeAsyncIterator()
        let first = try await pieces.next()?.readableBytes ?? 0
        let error = await #expect(throws: BeelineError.self) { try await response.collect(upTo: 1 << 20) }
        #expect(error?.code == .invalidRequest && error?.message.contains("first iterator") == true, "\(error as Any)")
        var count = first
        while let piece = try await pieces.next() { count += piece.readableBytes }
        #expect(count == text.utf8.count)
        await client.shutDown()
        await site.stop()
    }

    @Test("a request with a Range offers no codings, because part of a coded body cannot be decoded")
    func ranges() async throws {
        let site = try await LoopbackOrigin.start { .text($0.fields[.acceptEncoding] ?? "-") }
        let client = try plainClient()
        #expect(try await client.get(site.url()).text() == ContentCoding.offer)
        #expect(try await client.get(site.url(), fields: [.range: "bytes=5-9"]).text() == "-")
        await client.shutDown()
        await site.stop()
    }

    @Test("sending reports its progress for every kind of body")
    func progress() async throws {
        let folder = try TemporaryFolder()
        try Data(count: 400_000).write(to: folder.url("file"))
        let site = try await LoopbackOrigin.start { .text("\($0.bodySize)") }
        let client = try plainClient()
        let bodies: [(RequestBody, total: Int64?)] = [
            (.bytes([UInt8](repeating: 7, count: 400_000)), 400_000), (.file(folder.path("file")), 400_000),
            (.stream(length: nil) { AsyncBytes([UInt8](repeating: 7, count: 400_000)) }, nil),
        ]
        for (body, total) in bodies {
            let seen = NIOLockedValueBox<[TransferProgress]>([])
            let told = body.onProgress { progress in seen.withLockedValue { $0.append(progress) } }
            #expect(try await client.put(site.url(), body: told).text() == "400000")
            let all = seen.withLockedValue { $0 }
            #expect(all.map(\.transferred) == all.map(\.transferred).sorted())
            #expect(all.last?.total == total && all.allSatisfy { $0.total == total })
            #expect(all.last?.transferred == 400_000)
        }
        await client.shutDown()
        await site.stop()
    }

    @Test("the body waits for 100 Continue, and is not sent if the server answers without it")
    func expectContinue() async throws {
        let site = try await LoopbackOrigin.start(head: { request in
            request.path == "/no" ? .text("not wanted", status: .forbidden) : nil
        }) { .text("\($0.fields[.expect] ?? "-") \($0.text)") }
        let client = try plainClient()
        var options = RequestOptions()
        options.expectContinue = .seconds(30)
        for body in [RequestBody.bytes("abc".utf8), .stream(length: nil) { AsyncBytes(Array("abc".utf8)) }] {
            #expect(try await client.post(site.url(), body: body, options: options).text() == "100-continue abc")
        }
        let isRead = NIOLockedValueBox(false)
        let unread = RequestBody.stream(length: 3) {
            isRead.withLockedValue { $0 = true }
            return AsyncBytes(Array("abc".utf8))
        }
        let refused = try await client.post(site.url("/no"), body: unread, options: options)
        #expect(refused.status == .forbidden)
        #expect(try await refused.text() == "not wanted")
        #expect(!isRead.withLockedValue { $0 }, "the body was read though no exchange asked for it")
        // A request without a body sends no Expect (RFC 9110 §10.1.1).
        #expect(try await client.get(site.url(), options: options).text() == "- ")
        await client.shutDown()
        await site.stop()
    }

    @Test("a request whose expectation fails is sent again without it")
    func expectationFailed() async throws {
        let site = try await LoopbackOrigin.start(head: { request in
            request.fields[.expect] != nil ? .status(.expectationFailed) : nil
        }) { .text($0.text) }
        let client = try plainClient()
        var options = RequestOptions()
        options.expectContinue = .seconds(30)
        let response = try await client.post(site.url(), body: .bytes("abc".utf8), options: options)
        #expect(try await response.text() == "abc")
        #expect(response.hops.map(\.status.code) == [417, 200])
        await client.shutDown()
        await site.stop()
    }

    @Test(
        "a body that can be read once is sent with the next request if the server answered instead of asking for it",
        arguments: [("/417", 417), ("/401", 401), ("/307", 307)]
    )
    func unreadBody(path: String, status: Int) async throws {
        let site = try await LoopbackOrigin.start(head: { request in
            switch request.path {
            case "/417" where request.fields[.expect] != nil: return .status(.expectationFailed)
            case "/401" where request.fields[.authorization] == nil:
                return Reply.status(.unauthorized).adding(.wwwAuthenticate, "Basic realm=\"r\"")
            case "/307": return .redirect(to: "/end", status: .temporaryRedirect)
            default: return nil
            }
        }) { .text($0.text) }
        let client = try plainClient()
        var options = RequestOptions()
        options.expectContinue = .seconds(30)
        options.credentials = .any(user: "me", password: "secret")
        let body = RequestBody.once(length: 3, AsyncBytes(Array("abc".utf8)))
        let response = try await client.post(site.url(path), body: body, options: options)
        #expect(try await response.text() == "abc")
        #expect(response.hops.map(\.status.code) == [status, 200])
        await client.shutDown()
        await site.stop()
    }

    @Test("over HTTP/2 the body waits for 100 Continue")
    func expectContinueHTTP2() async throws {
        let lab = try await ClientLab(protocols: ["h2"]) { .text("\($0.version) \($0.text)") }
        var options = RequestOptions()
        options.expectContinue = .seconds(30)
        let response = try await lab.client.post(lab.url("a.test"), body: .bytes("abc".utf8), options: options)
        #expect(try await response.text() == "HTTP/2 abc")
        await lab.stop()
    }
}

/// Reads the body of each response, and gives the response a body of the same bytes.
private struct BodyKeeper: Interceptor {
    func intercept(_ request: ClientRequest, next: InterceptorNext) async throws -> Response {
        var response = try await next(request)
        response.body = .bytes(try await response.collect(upTo: 1 << 20))
        return response
    }
}

/// Sends each request twice.
private struct Repeater: Interceptor {
    func intercept(_ request: ClientRequest, next: InterceptorNext) async throws -> Response {
        await (try next(request)).body.discard()
        return try await next(request)
    }
}

/// A temporary folder that is deleted with its owner.
final class TemporaryFolder: Sendable {
    let root: URL

    init() throws {
        root = FileManager.default.temporaryDirectory.appendingPathComponent("beeline-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: root) }

    func url(_ name: String) -> URL { root.appendingPathComponent(name) }
    func path(_ name: String) -> String { url(name).path }
    func data(_ name: String) -> Data? { try? Data(contentsOf: url(name)) }
    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: root.path).sorted()) ?? [] }
}
