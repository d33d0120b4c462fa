// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationNetworking)
import BeelineTesting
import Foundation
import FoundationNetworking
import NIOConcurrencyHelpers
import Testing

/// A protocol class that runs a test's script for the URLs of that test.
final class ScriptedProtocol: URLProtocol {
    typealias Script = @Sendable (ScriptedProtocol, any URLProtocolClient) -> Void

    static let scripts = NIOLockedValueBox<[String: Script]>([:])
    static let calls = NIOLockedValueBox<[String: [String]]>([:])

    static func note(_ call: String, _ request: URLRequest?) {
        calls.withLockedValue { $0[request?.url?.host ?? "", default: []].append(call) }
    }

    override class func canInit(with request: URLRequest) -> Bool {
        guard let host = request.url?.host, scripts.withLockedValue({ $0[host] }) != nil else { return false }
        note("canInit", request)
        return true
    }

    override class func canInit(with task: URLSessionTask) -> Bool {
        note("canInit(task)", task.originalRequest)
        return false
    }

    override class func canonicalRequest(for request: URLRequest) -> URLRequest {
        note("canonicalRequest", request)
        return request
    }

    override func startLoading() {
        Self.note("start", request)
        guard let client, let script = Self.scripts.withLockedValue({ $0[request.url?.host ?? ""] }) else { return }
        script(self, client)
    }

    override func stopLoading() { Self.note("stop", request) }
}

/// Facts about protocol classes in Foundation on Linux. If a toolchain changes one, `BeelineURLProtocol` can drop its
/// workaround.
@Suite("Foundation on Linux: URLProtocol")
struct ProtocolFactsTests {
    let host = "h\(UInt32.random(in: 0 ... .max)).test"

    var url: URL {
        get throws { try URL(fromTest: "http://\(host)/") }
    }

    func session(
        delegate: (any URLSessionDelegate)? = nil,
        _ script: @escaping ScriptedProtocol.Script
    ) -> URLSession {
        ScriptedProtocol.scripts.withLockedValue { $0[host] = script }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [ScriptedProtocol.self] + (configuration.protocolClasses ?? [])
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    var calls: [String] { ScriptedProtocol.calls.withLockedValue { $0[host] ?? [] } }

    /// A script that answers with pieces.
    static func answer(
        _ pieces: [String] = [],
        status: Int = 200,
        _ fields: [String: String] = [:]
    ) -> ScriptedProtocol.Script {
        { loader, client in
            guard let url = loader.request.url,
                let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: fields)
            else { return }
            client.urlProtocol(loader, didReceive: response, cacheStoragePolicy: .notAllowed)
            for piece in pieces { client.urlProtocol(loader, didLoad: Data(piece.utf8)) }
            client.urlProtocolDidFinishLoading(loader)
        }
    }

    @Test("a class before the built-in ones is asked once, by request and not by task, and is never stopped")
    func asked() async throws {
        _ = try await session(Self.answer(["x"])).data(from: try url)
        #expect(calls == ["canInit", "start"])
    }

    @Test("a completion handler gets only the last piece")
    func lastPiece() async throws {
        let (data, _) = try await session(Self.answer(["one", "two", "three"])).data(from: try url)
        #expect(String(decoding: data, as: UTF8.self) == "three")
    }

    @Test("a delegate gets every piece")
    func everyPiece() async throws {
        let recorder = Recorder()
        session(delegate: recorder, Self.answer(["one", "two"])).dataTask(with: try url).resume()
        #expect(try await recorder.end().pieces == [3, 3])
    }

    @Test("Set-Cookie in a response of a class is not stored")
    func cookies() async throws {
        let session = session(Self.answer(["x"], ["Set-Cookie": "a=1"]))
        _ = try await session.data(from: try url)
        #expect(session.configuration.httpCookieStorage?.cookies == [])
    }

    @Test("the request for a class lacks the configuration's additional header fields")
    func additionalFields() async throws {
        let found = NIOLockedValueBox<[String: String]?>(nil)
        let session = session { loader, client in
            found.withLockedValue { $0 = loader.request.allHTTPHeaderFields }
            Self.answer()(loader, client)
        }
        session.configuration.httpAdditionalHeaders = ["X-One": "1"]
        _ = try await session.data(from: try url)
        #expect(found.withLockedValue { $0 }?["X-One"] == nil)
    }

    @Test("the request for a class already has the session's cookies, even Secure ones over http")
    func sessionCookies() async throws {
        let found = NIOLockedValueBox<String?>(nil)
        let session = session { loader, client in
            found.withLockedValue { $0 = loader.request.value(forHTTPHeaderField: "Cookie") }
            Self.answer()(loader, client)
        }
        try session.configuration.httpCookieStorage?.set("a=1; Secure; Path=/deep", from: "https://\(host)/deep")
        var request = URLRequest(url: try url)
        request.setValue("own=1", forHTTPHeaderField: "Cookie")
        _ = try await session.data(for: request)
        #expect(found.withLockedValue { $0 } == "a=1", "and the request's own are gone")
    }

    enum Task: String, CaseIterable {
        case httpBody, httpBodyStream, uploadFromData, uploadWithOtherBody, uploadFromFile, streamedRequest
    }

    @Test(
        "a class can see the body of some tasks only",
        arguments: zip(
            Task.allCases,
            [
                "data: secret", "stream: secret", "none", "data: wrong", "none", "none",
            ]
        )
    )
    func bodies(_ kind: Task, _ expected: String) async throws {
        let found = NIOLockedValueBox("")
        let recorder = Recorder()
        let session = session(delegate: recorder) { loader, client in
            var text = "none"
            if let data = loader.request.httpBody { text = "data: " + String(decoding: data, as: UTF8.self) }
            if let stream = loader.request.httpBodyStream {
                var bytes = [UInt8](repeating: 0, count: 100)
                stream.open()
                text = "stream: " + String(decoding: bytes[..<stream.read(&bytes, maxLength: 100)], as: UTF8.self)
            }
            found.withLockedValue { [text] in $0 = text }
            Self.answer()(loader, client)
        }
        let secret = Data("secret".utf8)
        var request = URLRequest("POST", try url)
        switch kind {
        case .httpBody:
            request.httpBody = secret
            session.dataTask(with: request).resume()
        case .httpBodyStream:
            request.httpBodyStream = InputStream(data: secret)
            session.dataTask(with: request).resume()
        case .uploadFromData: session.uploadTask(with: request, from: secret).resume()
        case .uploadWithOtherBody:
            request.httpBody = Data("wrong".utf8)
            session.uploadTask(with: request, from: secret).resume()
        case .uploadFromFile:
            let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            try secret.write(to: file)
            session.uploadTask(with: request, fromFile: file).resume()
        case .streamedRequest: session.uploadTask(withStreamedRequest: request).resume()
        }
        let story = try await recorder.end()
        #expect(found.withLockedValue { $0 } == expected && story.bodiesAsked == 0)
    }

    @Test("a property set on a request is lost")
    func property() throws {
        let request = NSMutableURLRequest(url: try url)
        URLProtocol.setProperty(true, forKey: "mark", in: request)
        #expect(URLProtocol.property(forKey: "mark", in: request as URLRequest) == nil)
    }

    @Test("registerClass does not intercept http")
    func register() async throws {
        ScriptedProtocol.scripts.withLockedValue { $0[host] = Self.answer() }
        _ = URLProtocol.registerClass(ScriptedProtocol.self)
        defer { URLProtocol.unregisterClass(ScriptedProtocol.self) }
        _ = try? await URLSession(configuration: .ephemeral).data(from: try URL(fromTest: "http://127.0.0.1:1/"))
        #expect(calls == [])
    }

    @Test("a class after the built-in ones is not asked")
    func last() async throws {
        ScriptedProtocol.scripts.withLockedValue { $0["127.0.0.1"] = Self.answer() }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = (configuration.protocolClasses ?? []) + [ScriptedProtocol.self]
        let session = URLSession(configuration: configuration)
        await #expect(throws: URLError.self) { try await session.data(from: try URL(fromTest: "http://127.0.0.1:1/")) }
        ScriptedProtocol.scripts.withLockedValue { $0["127.0.0.1"] = nil }
    }

    @Test("a session returns its live configuration and not a copy")
    func liveConfiguration() {
        let session = URLSession(configuration: .ephemeral)
        #expect(session.configuration === session.configuration)
    }

    @Test("all sessions start loads on one queue, so that a blocking load delays the others")
    func oneQueue() async throws {
        let other = DispatchSemaphore(value: 0)
        let first = session { loader, client in
            let isAlone = other.wait(timeout: .now() + .milliseconds(300)) == .timedOut
            Self.answer([isAlone ? "alone" : "beside"])(loader, client)
        }
        let second = ProtocolFactsTests()
        let url = try url
        async let answer = first.data(from: url)
        async let nothing = second.session { loader, client in
            other.signal()
            Self.answer()(loader, client)
        }.data(from: try second.url)
        let (text, _) = try await (String(decoding: answer.0, as: UTF8.self), nothing)
        // If the second load came first, it could not be delayed.
        #expect(text == "alone" || second.calls.isEmpty == false)
    }

    @Test("suspending stops a load, and resuming starts the same object again")
    func suspension() async throws {
        let recorder = Recorder()
        let loads = NIOLockedValueBox(0)
        let session = session(delegate: recorder) { loader, client in
            let count = loads.withLockedValue { loads in
                loads += 1
                return loads
            }
            if count == 2 { Self.answer()(loader, client) }
        }
        let task = session.dataTask(with: try url)
        task.resume()
        task.suspend()
        task.resume()
        _ = try await recorder.end()
        #expect(calls == ["canInit", "start", "stop", "start"])
    }

    @Test("a download task of a class ends without a file and without an error")
    func download() async throws {
        let session = session(Self.answer(["x"]))
        let url = try url
        let (file, error) = await withCheckedContinuation { continuation in
            session.downloadTask(with: url) { continuation.resume(returning: ($0, $2)) }.resume()
        }
        #expect(file == nil && error == nil)
    }

    // MARK: Crashes

    /// Runs a script for one load, in a separate process.
    static func run(_ script: @escaping ScriptedProtocol.Script) async {
        let session = ProtocolFactsTests().session(script)
        let hosts = ScriptedProtocol.scripts.withLockedValue { Array($0.keys) }
        for host in hosts {
            guard let url = URL(string: "http://\(host)/") else { continue }
            _ = try? await session.data(from: url)
        }
    }

    @Test("reporting a redirect traps")
    func redirectTraps() async {
        await #expect(processExitsWith: .failure) {
            await ProtocolFactsTests.run { loader, client in
                let response = URLResponse(
                    url: loader.request.url ?? URL(fileURLWithPath: "/"),
                    mimeType: nil,
                    expectedContentLength: 0,
                    textEncodingName: nil
                )
                client.urlProtocol(loader, wasRedirectedTo: loader.request, redirectResponse: response)
            }
        }
    }

    @Test("making a task in startLoading traps")
    func taskTraps() async {
        await #expect(processExitsWith: .failure) {
            await ProtocolFactsTests.run { loader, _ in
                guard let url = URL(string: "http://127.0.0.1:1/") else { return }
                URLSession(configuration: .ephemeral).dataTask(with: url).resume()
            }
        }
    }

    @Test("reading a missing error of a stream traps")
    func streamErrorTraps() async {
        await #expect(processExitsWith: .failure) {
            let stream = InputStream(data: Data("x".utf8))
            stream.open()
            _ = stream.streamError
        }
    }
}
#endif
