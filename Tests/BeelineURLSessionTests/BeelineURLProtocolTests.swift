// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import BeelineURLSession
import Foundation
import NIOConcurrencyHelpers
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("BeelineURLProtocol")
struct BeelineURLProtocolTests {
    @Test("a request goes to the address, with the name in Host, SNI and certificate, and the URL keeps the name")
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

    @Test("a certificate for another name is an error of its own")
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
        "every error of an exchange has a code of its own, so that none is unknown",
        arguments: [
            (DirectHTTPError.Code.pinMismatch, URLError.Code.serverCertificateUntrusted),
            (.certificateRejected, .serverCertificateUntrusted), (.tlsFailed, .secureConnectionFailed),
            (.streamReset, .networkConnectionLost), (.connectionLost, .networkConnectionLost),
            (.unresolved, .cannotFindHost), (.connectFailed, .cannotConnectToHost), (.idleTimeout, .timedOut),
        ]
    )
    func codes(_ cause: DirectHTTPError.Code, _ code: URLError.Code) {
        #expect(URLError(BeelineError(BeelineError.Code(cause), "why"), for: nil).code == code)
    }

    // MARK: Bodies

    enum Upload: String, CaseIterable {
        case httpBody, httpBodyStream, fromData, fromFile, asyncUpload, streamedRequest
    }

    @Test("the body arrives, however it was handed over, and the method stays", arguments: Upload.allCases)
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

    #if !canImport(Darwin)
    @Test("a delegate hears how much of the body has left", arguments: Upload.allCases.filter { $0 != .asyncUpload })
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

    @Test("a stream that fails is an error, never a short body")
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

    @Test("a POST without a body stays a POST without a body")
    func emptyPost() async throws {
        let lab = try await SessionLab()
        _ = try await lab.session().text(URLRequest("POST", try lab.url("/echo")))
        let seen = try #require(lab.site.requests.first)
        #expect(seen.method == .post && seen.fields[.contentLength] == "0" && seen.fields[.contentType] == nil)
        await lab.stop()
    }

    @Test("fields of request and configuration arrive, the request's first; nothing of ours is among them")
    func fields() async throws {
        let lab = try await SessionLab()
        let session = lab.session { $0.httpAdditionalHeaders = ["X-One": "configuration", "X-Two": "configuration"] }
        _ = try await session.text(URLRequest("GET", try lab.url("/echo"), ["x-one": "request", "Host": "other.test"]))
        let seen = try #require(lab.site.requests.first)
        #expect(seen.authority == "other.test")
        let fields = Dictionary(uniqueKeysWithValues: seen.fields.map { ($0.name.canonicalName, $0.value) })
        #expect(fields["x-one"] == "request" && fields["x-two"] == "configuration")
        let usual = ["accept", "accept-encoding", "accept-language", "user-agent", "host"]
        #expect(Set(fields.keys).isSubset(of: ["x-one", "x-two"] + usual))
        await lab.stop()
    }

    @Test("white space around the value of a field is not part of it, and no error")
    func spaces() async throws {
        let lab = try await SessionLab()
        _ = try await lab.session().text(URLRequest("GET", try lab.url("/echo"), ["X-One": " one\t"]))
        #expect(lab.site.requests.first?.fields.first { $0.name.canonicalName == "x-one" }?.value == "one")
        await lab.stop()
    }

    @Test("the user's language is told as URLSession tells it, and not where the program says another")
    func language() async throws {
        let lab = try await SessionLab()
        _ = try await lab.session().text(try lab.openURL("/echo"))
        _ = try await URLSession(configuration: .ephemeral).text(try lab.openURL("/echo"))
        let told = lab.open.requests.map { $0.fields[.acceptLanguage] }
        #expect(told.count == 2 && told[0] == told[1])
        let own = URLRequest("GET", try lab.openURL("/echo"), ["accept-language": "tlh"])
        _ = try await lab.session().text(own)
        #expect(lab.open.requests.last?.fields[.acceptLanguage] == "tlh")
        await lab.stop()
    }

    // MARK: Responses

    @Test("a delegate gets the pieces, a completion handler the whole body")
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

    @Test("a slow delegate holds the server back: nothing piles up")
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

    @Test("a challenge of HTTP is the response, for handlers and delegates, and nothing waits for ever")
    func challenge() async throws {
        let lab = try await SessionLab()
        let url = try lab.url("/basic?user=a&password=b")
        let (text, response) = try await withTimeLimit(.seconds(10), { "a 401" }) { try await lab.session().text(url) }
        #expect(response.statusCode == 401 && text == "who are you?\n")
        #expect(response.value(forHTTPHeaderField: "WWW-Authenticate")?.contains("Basic realm=\"test\"") == true)
        let recorder = Recorder()
        lab.session(delegate: recorder).dataTask(with: url).resume()
        #expect(try await recorder.end().responses.map(\.statusCode) == [401])
        await lab.stop()
    }

    @Test("several Set-Cookie fields are joined as Foundation joins them")
    func joined() async throws {
        let lab = try await SessionLab()
        let (_, response) = try await lab.session().text(try lab.url("/set-cookie?value=a%3D1&value2=b%3D2"))
        #expect(response.value(forHTTPHeaderField: "set-cookie") == "a=1, b=2")
        await lab.stop()
    }

    // MARK: Cancelling, suspending, time

    @Test("a cancelled task ends, and the server is left alone", arguments: ["before the head", "in the body"])
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

    @Test("a task that is cancelled before it begins asks nobody")
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

    @Test("a task that is suspended gets nothing, and goes on where it was")
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
        // Another task on the same queues has come to its end: time enough for what must not come.
        _ = try await session.text(try lab.openURL("/echo"))
        #expect(recorder.story.end == nil)
        task.resume()
        let story = try await recorder.end()
        #expect(String(decoding: story.body, as: UTF8.self) == "onetwo" && story.responses.count == 1)
        #expect(lab.site.requests.count == 1)
        await lab.stop()
    }

    @Test("the timeout of the request is enforced, and that of the whole", arguments: [true, false])
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

    // MARK: What is left to Foundation

    @Test("what is not ours is left to Foundation, with a line that says why")
    func declined() async throws {
        let lab = try await SessionLab()
        let lines = NIOLockedValueBox<[String]>([])
        var settings = BeelineURLProtocol.Settings()
        settings.log = { line in lines.withLockedValue { $0.append(line) } }
        settings.accepts = { $0.url?.path != "/unaccepted" }
        settings.hosts = ["localhost", "a.test"]
        let session = lab.session(settings)
        // A client's own user agent tells who carried it.
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
        // The program's name may be in Foundation's user agent; the mark of the bypass may be nowhere.
        let fields = try #require(lab.open.requests.last?.fields)
        #expect(!fields.contains { $0.name != .userAgent && "\($0)".lowercased().contains("beeline") })
        lab.client.isHTTPDNSEnabled = false
        #expect(try await !carrier(URLRequest(url: try lab.openURL("/status/200"))))
        #expect(lines.withLockedValue { $0.count } == 4)
        await lab.stop()
    }

    @Test("a proxy in force leaves requests to Foundation")
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
    @Test("a download, which traps Foundation on Linux when a class carries it, is an error that says what to do")
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

    @Test("the class itself carries for the client of the process")
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
