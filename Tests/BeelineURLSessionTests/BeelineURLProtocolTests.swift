// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import BeelineURLSession
import Foundation
import NIOConcurrencyHelpers
import NIOCore
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("BeelineURLProtocol")
struct BeelineURLProtocolTests {
    @Test("a request connects to the resolved address and keeps the name in Host, SNI, certificate and URL")
    func nameStays() async throws {
        let lab = try await SessionLab()
        let url = try lab.url("/echo?q=1#part")
        let (body, response) = try await lab.session().text(url)
        #expect(response.statusCode == 200 && response.url == url)
        #expect(body.contains("a.test"))
        let seen = try #require(lab.site.requests.first)
        #expect(seen.authority == "a.test:\(lab.site.port)" && seen.connection.serverName == "a.test")
        await lab.stop()
    }

    @Test("a certificate for another name has its own error")
    func certificate() async throws {
        let lab = try await SessionLab()
        let url = try lab.url("/echo", at: "foreign.test")
        let error = await #expect(throws: URLError.self) { try await lab.session().text(url) }
        #expect(error?.code == .serverCertificateUntrusted)
        #expect(error?.localizedDescription.contains("another name") == true)
        let cause = try #require(error as NSError?).userInfo[NSUnderlyingErrorKey] as? BeelineError
        #expect(cause?.attempts.isEmpty == false)
        #expect(error?.failingURL == url)
        await lab.stop()
    }

    @Test(
        "each error of an exchange becomes a specific URLError",
        arguments: [
            (DirectHTTPError.Code.pinMismatch, URLError.Code.serverCertificateUntrusted),
            (.certificateRejected, .serverCertificateUntrusted), (.tlsFailed, .secureConnectionFailed),
            (.streamReset, .networkConnectionLost), (.connectionLost, .networkConnectionLost),
            (.unresolved, .cannotFindHost), (.connectFailed, .cannotConnectToHost), (.idleTimeout, .timedOut),
        ]
    )
    func codes(_ cause: DirectHTTPError.Code, _ code: URLError.Code) {
        #expect(URLError(BeelineError(cause, "why"), for: nil).code == code)
    }

    @Test(
        "a body is decoded although the request or the session has its own Accept-Encoding",
        arguments: [false, true]
    )
    func ownCodings(inSession: Bool) async throws {
        let lab = try await SessionLab { request in
            if request.path == "/moved" { return .redirect(to: "/") }
            let reply = Reply.text("squeezed")
            let isPlain = request.fields[.acceptEncoding]?.hasPrefix("identity") ?? true
            return isPlain ? reply : reply.compressed(.gzip)
        }
        let alamofire = "br;q=1.0, gzip;q=0.9, deflate;q=0.8"
        for (codings, sent) in [
            (alamofire, ContentCoding.offer), ("gzip", ContentCoding.offer), ("identity", "identity"),
            ("identity, *;q=0", "identity, *;q=0"),
        ] {
            let session = lab.session { if inSession { $0.httpAdditionalHeaders = ["Accept-Encoding": codings] } }
            let fields: [String: String] = inSession ? [:] : ["Accept-Encoding": codings]
            let (text, _) = try await session.text(URLRequest("GET", try lab.url("/"), fields: fields))
            #expect(text == "squeezed", "\(codings)")
            #expect(lab.site.requests.last?.fields[.acceptEncoding] == sent)
        }
        // A delegate that is asked for a redirect gets the program's own field.
        let recorder = Recorder()
        let moved = URLRequest("GET", try lab.url("/moved"), fields: ["Accept-Encoding": alamofire])
        lab.session(delegate: recorder).dataTask(with: moved).resume()
        let story = try await recorder.end()
        #expect(story.redirects.first?.next.value(forHTTPHeaderField: "Accept-Encoding") == alamofire)
        #expect(String(decoding: story.body, as: UTF8.self) == "squeezed")
        #expect(lab.site.requests.last?.fields[.acceptEncoding] == ContentCoding.offer)
        await lab.stop()
    }

    // MARK: Bodies

    enum Upload: String, CaseIterable {
        case httpBody, httpBodyStream, fromData, fromFile, asyncUpload, streamedRequest
    }

    @Test("a body arrives with the right method, in any form that the program passes", arguments: Upload.allCases)
    func bodies(_ upload: Upload) async throws {
        let lab = try await SessionLab()
        let text = String(repeating: "secret body ", count: 20_000)
        let data = Data(text.utf8)
        var request = URLRequest("POST", try lab.url("/echo"))
        let recorder = Recorder(newBody: { InputStream(data: data) })
        let session = lab.session(delegate: recorder)
        switch upload {
        case .httpBody:
            request.httpBody = data
            session.dataTask(with: request).resume()
        case .httpBodyStream:
            request.httpBodyStream = InputStream(data: data)
            session.dataTask(with: request).resume()
        case .fromData:
            request.httpBody = Data("the wrong one".utf8)
            session.uploadTask(with: request, from: data).resume()
        case .fromFile:
            let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            try data.write(to: file)
            session.uploadTask(with: request, fromFile: file).resume()
        case .asyncUpload:
            _ = try await session.upload(for: request, from: data)
        case .streamedRequest:
            session.uploadTask(withStreamedRequest: request).resume()
        }
        let seen = try #require(try await lab.site.requests(atLeast: 1).first)
        #expect(seen.method == .post && seen.bodySize == data.count && seen.body == Array(data))
        if upload != .asyncUpload { #expect(try await recorder.end().end != nil) }
        await lab.stop()
    }

    /// Adds the number of bytes of a body in memory.
    private struct Counting: Interceptor {
        func intercept(_ request: ClientRequest, next: InterceptorNext) async throws -> Response {
            var request = request
            request.fields[.referer] = request.body.bytesInMemory.map { "\($0.readableBytes)" } ?? "none"
            return try await next(request)
        }
    }

    @Test("an interceptor sees the bytes of a body, also if the session has a delegate", arguments: [false, true])
    func bodyForInterceptors(hasDelegate: Bool) async throws {
        let lab = try await SessionLab(configure: { $0.interceptors = [Counting()] })
        let request = URLRequest("POST", try lab.url("/echo"), body: "body")
        if hasDelegate {
            let recorder = Recorder()
            lab.session(delegate: recorder).dataTask(with: request).resume()
            _ = try await recorder.end()
        } else {
            _ = try await lab.session().text(request)
        }
        #expect(lab.site.requests.last?.fields[.referer] == "4")
        await lab.stop()
    }

    #if !canImport(Darwin)
    @Test("a delegate gets the progress of an upload", arguments: Upload.allCases.filter { $0 != .asyncUpload })
    func uploadProgress(_ upload: Upload) async throws {
        let lab = try await SessionLab()
        let data = Data(repeating: 7, count: 300_000)
        var request = URLRequest("POST", try lab.url("/redirect?status=307&to=/echo"))
        let recorder = Recorder(newBody: { InputStream(data: data) })
        let session = lab.session(delegate: recorder)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try data.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let task: URLSessionTask
        switch upload {
        case .httpBody:
            request.httpBody = data
            task = session.dataTask(with: request)
        case .httpBodyStream:
            request.httpBodyStream = InputStream(data: data)
            task = session.dataTask(with: request)
        case .fromFile: task = session.uploadTask(with: request, fromFile: file)
        case .streamedRequest: task = session.uploadTask(withStreamedRequest: request)
        default: task = session.uploadTask(with: request, from: data)
        }
        task.resume()
        let story = try await recorder.end()
        let hasLength = upload != .httpBodyStream && upload != .streamedRequest
        #expect(Set(story.sent.map(\.expected)) == [hasLength ? 300_000 : NSURLSessionTransferSizeUnknown])
        #expect(story.sent.last?.total == 300_000)
        #expect(story.sent.allSatisfy { $0.count > 0 && $0.total <= 300_000 && !$0.hasResponse })
        await lab.stop()
    }
    #endif

    @Test("a body stream that fails is an error and never sends a short body")
    func failingStream() async throws {
        let lab = try await SessionLab()
        var request = URLRequest("POST", try lab.url("/echo"))
        request.httpBodyStream = InputStream(fileAtPath: "/nonexistent/file")
        let (spent, session) = (request, lab.session())
        let error = await #expect(throws: URLError.self) { try await session.text(spent) }
        #expect(error?.code == .requestBodyStreamExhausted)
        #expect(lab.site.requests.isEmpty)
        await lab.stop()
    }

    @Test("a POST without a body is sent without a body")
    func emptyPost() async throws {
        let lab = try await SessionLab()
        _ = try await lab.session().text(URLRequest("POST", try lab.url("/echo")))
        let seen = try #require(lab.site.requests.first)
        #expect(seen.method == .post && seen.fields[.contentLength] == "0" && seen.fields[.contentType] == nil)
        await lab.stop()
    }

    @Test("fields of the request and the configuration are sent, the request's come first, and no others are added")
    func fields() async throws {
        let lab = try await SessionLab()
        let session = lab.session { $0.httpAdditionalHeaders = ["X-One": "configuration", "X-Two": "configuration"] }
        _ = try await session.text(
            URLRequest("GET", try lab.url("/echo"), fields: ["x-one": "request", "Host": "other.test"])
        )
        let seen = try #require(lab.site.requests.first)
        #expect(seen.authority == "other.test")
        let fields = Dictionary(uniqueKeysWithValues: seen.fields.map { ($0.name.canonicalName, $0.value) })
        #expect(fields["x-one"] == "request" && fields["x-two"] == "configuration")
        let usual = ["accept", "accept-encoding", "accept-language", "user-agent", "host"]
        #expect(Set(fields.keys).isSubset(of: ["x-one", "x-two"] + usual))
        await lab.stop()
    }

    @Test("white space around a field value is removed")
    func spaces() async throws {
        let lab = try await SessionLab()
        _ = try await lab.session().text(URLRequest("GET", try lab.url("/echo"), fields: ["X-One": " one\t"]))
        #expect(lab.site.requests.first?.fields.first { $0.name.canonicalName == "x-one" }?.value == "one")
        await lab.stop()
    }

    @Test("the user's language is sent as by URLSession, unless the program sets another")
    func language() async throws {
        let lab = try await SessionLab()
        _ = try await lab.session().text(try lab.openURL("/echo"))
        _ = try await URLSession(configuration: .ephemeral).text(try lab.openURL("/echo"))
        let told = lab.open.requests.map { $0.fields[.acceptLanguage] }
        #expect(told.count == 2 && told[0] == told[1])
        let own = URLRequest("GET", try lab.openURL("/echo"), fields: ["accept-language": "tlh"])
        _ = try await lab.session().text(own)
        #expect(lab.open.requests.last?.fields[.acceptLanguage] == "tlh")
        await lab.stop()
    }

    // MARK: Responses

    @Test("a delegate gets the pieces of a body, and a completion handler gets the whole body")
    func pieces() async throws {
        let gate = Gate()
        let lab = try await SessionLab { request in
            request.path == "/slow" ? .chunks("one ", .wait(gate), "two ") : try await Routes.standard(request)
        }
        let (whole, _) = try await lab.session().text(try lab.url("/chunked/500"))
        #expect(whole.hasPrefix("chunk 1\n") && whole.hasSuffix("chunk 500\n"))
        let recorder = Recorder(atPiece: { _ in gate.open() })
        lab.session(delegate: recorder).dataTask(with: try lab.url("/slow")).resume()
        let story = try await recorder.end()
        #expect(story.pieces == [4, 4] && story.responses.count == 1)
        await lab.stop()
    }

    @Test("a slow delegate slows the server down, and no data piles up")
    func backPressure() async throws {
        let lab = try await SessionLab()
        let gate = Gate()
        let most = NIOLockedValueBox(0)
        let taken = NIOLockedValueBox(0)
        let recorder = Recorder(atPiece: { piece in
            taken.withLockedValue { $0 += piece.count }
            most.withLockedValue { $0 = max($0, piece.count) }
        })
        let session = lab.session(delegate: recorder)
        session.delegateQueue.addOperation {
            let held = DispatchSemaphore(value: 0)
            Task {
                try? await gate.wait()
                held.signal()
            }
            held.wait()
        }
        session.dataTask(with: try lab.url("/bytes/67108864")).resume()
        try await gate.arrivals(atLeast: 1)
        let sent = try await lab.site.requests(atLeast: 1).count
        #expect(sent == 1 && taken.withLockedValue { $0 } == 0)
        gate.open()
        _ = try await recorder.end()
        #expect(taken.withLockedValue { $0 } == 67_108_864)
        await lab.stop()
    }

    @Test("an HTTP authentication challenge is returned as the response, to handlers and delegates, without waiting")
    func challenge() async throws {
        let lab = try await SessionLab()
        let url = try lab.url("/basic?user=a&password=b")
        let (text, response) = try await withTimeLimit(.seconds(10), for: { "a 401" }) {
            try await lab.session().text(url)
        }
        #expect(response.statusCode == 401 && text == "who are you?\n")
        #expect(response.value(forHTTPHeaderField: "WWW-Authenticate")?.contains("Basic realm=\"test\"") == true)
        let recorder = Recorder()
        lab.session(delegate: recorder).dataTask(with: url).resume()
        #expect(try await recorder.end().responses.map(\.statusCode) == [401])
        await lab.stop()
    }

    @Test("several Set-Cookie fields are joined in Foundation's format")
    func joined() async throws {
        let lab = try await SessionLab()
        let (_, response) = try await lab.session().text(try lab.url("/set-cookie?value=a%3D1&value2=b%3D2"))
        #expect(response.value(forHTTPHeaderField: "set-cookie") == "a=1, b=2")
        await lab.stop()
    }

    // MARK: Cancellation, suspension and timeouts

    @Test("a cancelled task ends and closes its connection", arguments: ["before the head", "in the body"])
    func cancel(_ when: String) async throws {
        let gate = Gate()
        let lab = try await SessionLab { _ in
            if when == "before the head" { try await gate.wait() }
            return .chunks("one", .wait(gate), "two")
        }
        let recorder = Recorder()
        let task = lab.session(delegate: recorder).dataTask(with: try lab.url("/"))
        task.resume()
        if when == "in the body" { try await recorder.head() }
        try await gate.arrivals(atLeast: 1)
        task.cancel()
        guard case .failure(let error) = try await recorder.end().end else { throw NoStorage() }
        #expect((error as? URLError)?.code == .cancelled)
        _ = try await lab.site.connections { $0.open == 0 }
        await lab.stop()
    }

    @Test("a task cancelled before it starts sends no request")
    func cancelledFirst() async throws {
        let lab = try await SessionLab()
        let recorder = Recorder()
        let task = lab.session(delegate: recorder).dataTask(with: try lab.url("/echo"))
        task.cancel()
        guard case .failure(let error) = try await recorder.end().end else { throw NoStorage() }
        #expect((error as? URLError)?.code == .cancelled)
        _ = try await lab.session().text(try lab.openURL("/echo"))
        #expect(lab.site.requests.isEmpty && lab.open.requests.count == 1)
        await lab.stop()
    }

    @Test("a suspended task receives nothing, and continues where it stopped")
    func suspend() async throws {
        let gate = Gate()
        let lab = try await SessionLab { _ in .chunks("one", .wait(gate), "two") }
        let recorder = Recorder()
        let session = lab.session(delegate: recorder)
        let task = session.dataTask(with: try lab.url("/"))
        task.resume()
        try await recorder.head()
        try await gate.arrivals(atLeast: 1)
        task.suspend()
        gate.open()
        // A later task on the same queues has ended, so an event of the suspended task would have arrived.
        _ = try await session.text(try lab.openURL("/echo"))
        #expect(recorder.story.end == nil)
        task.resume()
        let story = try await recorder.end()
        #expect(String(decoding: story.body, as: UTF8.self) == "onetwo" && story.responses.count == 1)
        #expect(lab.site.requests.count == 1)
        await lab.stop()
    }

    @Test("the request timeout and the resource timeout are enforced", arguments: [true, false])
    func timeout(_ isOfRequest: Bool) async throws {
        let gate = Gate()
        let lab = try await SessionLab { _ in
            try await gate.wait()
            return .text("late")
        }
        var request = URLRequest(url: try lab.url("/"))
        if isOfRequest { request.timeoutInterval = 0.2 }
        let session = lab.session { if !isOfRequest { $0.timeoutIntervalForResource = 0.2 } }
        let timed = request
        let error = await #expect(throws: URLError.self) { try await session.text(timed) }
        #expect(error?.code == .timedOut)
        await lab.stop()
    }

    // MARK: Requests left to Foundation

    @Test("requests that the settings exclude are left to Foundation, with a log line that gives the reason")
    func declined() async throws {
        let lab = try await SessionLab()
        let lines = NIOLockedValueBox<[String]>([])
        var settings = BeelineURLProtocol.Settings()
        settings.log = { line in lines.withLockedValue { $0.append(line) } }
        settings.accepts = { $0.url?.path != "/unaccepted" }
        settings.hosts = ["localhost", "a.test"]
        let session = lab.session(settings)
        // The user agent shows whether the client carried the request.
        func carrier(_ request: URLRequest) async throws -> Bool {
            _ = try await session.text(request)
            return lab.open.requests.last?.fields[.userAgent]?.hasPrefix("Beeline") == true
        }
        #expect(try await carrier(URLRequest(url: try lab.openURL("/status/200"))))
        #expect(try await !carrier(URLRequest(url: try lab.openURL("/unaccepted"))))
        #expect(try await !carrier(URLRequest(url: try lab.openURL("/status/200", at: "127.0.0.1"))))
        var request = URLRequest(url: try lab.openURL("/status/200"))
        request.bypassesBeeline = true
        #expect(try await !carrier(request))
        // Foundation's user agent may contain the program's name. No other field may contain the bypass mark.
        let fields = try #require(lab.open.requests.last?.fields)
        #expect(!fields.contains { $0.name != .userAgent && "\($0)".lowercased().contains("beeline") })
        lab.client.isHTTPDNSEnabled = false
        #expect(try await !carrier(URLRequest(url: try lab.openURL("/status/200"))))
        #expect(lines.withLockedValue { $0.count } == 4)
        await lab.stop()
    }

    @Test("a request for which a proxy is in force is left to Foundation")
    func proxy() throws {
        var configuration = ClientConfiguration()
        configuration.proxies = ProxySettings(environment: [
            "http_proxy": "http://127.0.0.1:9", "no_proxy": "direct.test",
        ])
        let client = try BeelineClient(configuration)
        let classes = URLSessionConfiguration.beeline(client, base: .ephemeral).protocolClasses
        let type = try #require(classes?.first as? URLProtocol.Type)
        #expect(!type.canInit(with: URLRequest(url: try URL(fromTest: "http://a.test/"))))
        #expect(type.canInit(with: URLRequest(url: try URL(fromTest: "https://a.test/"))))
        #expect(type.canInit(with: URLRequest(url: try URL(fromTest: "http://direct.test/"))))
        for other in ["ws://a.test/", "wss://a.test/", "ftp://a.test/", "file:///etc/hosts", "data:,x"] {
            #expect(!type.canInit(with: URLRequest(url: try URL(fromTest: other))))
        }
    }

    #if !canImport(Darwin)
    @Test("a download task on Linux fails with an error that names the alternative")
    func download() async throws {
        let lab = try await SessionLab()
        let recorder = Recorder()
        let lines = NIOLockedValueBox<[String]>([])
        var settings = BeelineURLProtocol.Settings()
        settings.log = { line in lines.withLockedValue { $0.append(line) } }
        lab.session(settings, delegate: recorder).downloadTask(with: try lab.url("/echo")).resume()
        guard case .failure(let error) = try await recorder.end().end else { throw NoStorage() }
        #expect((error as? URLError)?.localizedDescription.contains("BeelineProxy") == true)
        #expect(lines.withLockedValue { $0.map { $0.contains("BeelineProxy") } } == [true])
        #expect(lab.site.requests.isEmpty)
        await lab.stop()
    }
    #endif

    @Test("each configuration has its own client")
    func ownClients() async throws {
        let (one, two) = (try await SessionLab(), try await SessionLab())
        let (a, b) = (one.session(), two.session())
        _ = try await a.text(try one.url("/echo"))
        await #expect(throws: URLError.self) { try await b.text(try one.url("/echo")) }
        _ = try await b.text(try two.url("/echo"))
        await one.stop()
        await two.stop()
    }

    @Test("the class itself uses the client set for the process")
    func processWide() async throws {
        let lab = try await SessionLab()
        BeelineURLProtocol.use(lab.client)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [BeelineURLProtocol.self] + (configuration.protocolClasses ?? [])
        let (_, response) = try await URLSession(configuration: configuration).text(try lab.url("/echo"))
        #expect(response.statusCode == 200)
        BeelineURLProtocol.use(nil)
        #expect(!BeelineURLProtocol.canInit(with: URLRequest(url: try lab.url("/echo"))))
        await lab.stop()
    }
}
