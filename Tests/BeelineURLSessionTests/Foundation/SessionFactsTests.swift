// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationNetworking)
import BeelineTesting
import BeelineURLSession
import Foundation
import FoundationNetworking
import HTTPTypes
import Testing

/// Facts about URLSession on Linux over the network.
@Suite("Foundation on Linux: URLSession")
struct SessionFactsTests {
    let session = URLSession(configuration: .ephemeral)

    func origin() async throws -> LoopbackOrigin { try await LoopbackOrigin.start(handler: Routes.standard) }

    func url(_ origin: LoopbackOrigin, _ path: String, at host: String = "127.0.0.1") throws -> URL {
        try URL(fromTest: "http://\(host):\(origin.port)\(path)")
    }

    @Test("a Host field and credentials are sent, and also follow a redirect to another host")
    func hostStays() async throws {
        let origin = try await origin()
        let target = try url(origin, "/echo", at: "localhost").absoluteString
        let fields = ["Host": "www.test.com", "Authorization": "Bearer secret"]
        _ = try await session.text(URLRequest("GET", try url(origin, "/redirect?to=\(target)"), fields: fields))
        #expect(origin.requests.map(\.authority) == ["www.test.com", "www.test.com"])
        #expect(origin.requests.map { $0.fields[.authorization] } == ["Bearer secret", "Bearer secret"])
        await origin.stop()
    }

    @Test("a 307 repeats the request without its body")
    func bodyLost() async throws {
        let origin = try await origin()
        let request = URLRequest("POST", try url(origin, "/redirect?status=307&to=/echo"), body: "body")
        _ = try await session.text(request)
        #expect(origin.requests.map(\.method.rawValue) == ["POST", "POST"])
        #expect(origin.requests.map(\.bodySize) == [4, 0])
        await origin.stop()
    }

    @Test("a cookie received from an address is stored for the address and sent with any Host")
    func cookieOfAddress() async throws {
        let origin = try await origin()
        _ = try await session.text(
            URLRequest("GET", try url(origin, "/set-cookie?value=sid%3DB"), fields: ["Host": "www.test.com"])
        )
        #expect(session.configuration.httpCookieStorage?.cookies?.map(\.domain) == ["127.0.0.1"])
        _ = try await session.text(URLRequest("GET", try url(origin, "/echo"), fields: ["Host": "evil.example"]))
        #expect(origin.requests.last?.cookies == ["sid": "B"])
        await origin.stop()
    }

    @Test("a cookie for the name's domain received from an address is lost")
    func cookieOfDomain() async throws {
        let origin = try await origin()
        let path = "/set-cookie?value=sid%3DA%3B%20Domain%3D.test.com"
        _ = try await session.text(URLRequest("GET", try url(origin, path), fields: ["Host": "www.test.com"]))
        #expect(session.configuration.httpCookieStorage?.cookies == [])
        await origin.stop()
    }

    @Test(
        "a Cookie field of the request is replaced by the storage's cookies, even if the request disables cookies"
    )
    func cookieReplaced() async throws {
        let origin = try await origin()
        try session.configuration.httpCookieStorage?.set("sid=B", from: "http://127.0.0.1/")
        var request = URLRequest("GET", try url(origin, "/echo"), fields: ["Cookie": "own=1"])
        request.httpShouldHandleCookies = false
        _ = try await session.text(request)
        #expect(origin.requests.last?.cookies == ["sid": "B"])
        await origin.stop()
    }

    @Test("an untrusted certificate is error -1")
    func certificate() async throws {
        let lab = try await SessionLab(names: ["localhost"])
        let url = try lab.url("/echo", at: "localhost")
        let error = await #expect(throws: (any Error).self) { try await session.text(url) }
        #expect(error.map { ($0 as NSError).code } == -1)
        await lab.stop()
    }

    @Test("a proxy in the configuration is ignored")
    func proxy() async throws {
        let origin = try await origin()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": 1]
        _ = try await URLSession(configuration: configuration).text(try url(origin, "/echo"))
        #expect(origin.requests.count == 1)
        await origin.stop()
    }

    @Test(
        "the delegate's disposition for a response is ignored, for responses of a class, too",
        // The last value is a download, which is deprecated; a stream has no value.
        arguments: (0...2).compactMap(URLSession.ResponseDisposition.init)
    )
    func disposition(_ disposition: URLSession.ResponseDisposition) async throws {
        let lab = try await SessionLab()
        for isCarried in [true, false] {
            let recorder = Recorder(disposition: disposition)
            let plain = URLSession(configuration: .ephemeral, delegate: recorder, delegateQueue: nil)
            let session = isCarried ? lab.session(delegate: recorder) : plain
            session.dataTask(with: try lab.openURL("/bytes/300000")).resume()
            let story = try await recorder.end()
            #expect(story.pieces.reduce(0, +) == 300_000 && story.downloaded == nil)
            try story.end?.get()
        }
        await lab.stop()
    }

    @Test("a cookie deleted after a task was made and before it is resumed is sent")
    func cookieDeleted() async throws {
        let origin = try await origin()
        let storage = try #require(session.configuration.httpCookieStorage)
        try storage.set("sid=B", from: "http://127.0.0.1/")
        let recorder = Recorder()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = storage
        let session = URLSession(configuration: configuration, delegate: recorder, delegateQueue: nil)
        let task = session.dataTask(with: try url(origin, "/echo"))
        for cookie in storage.cookies ?? [] { storage.deleteCookie(cookie) }
        task.resume()
        _ = try await recorder.end()
        #expect(origin.requests.last?.cookies == ["sid": "B"])
        await origin.stop()
    }

    @Test("a refused connection is error -1004, and a GET with a body is error -1103")
    func errors() async throws {
        let origin = try await origin()
        let refused = await #expect(throws: URLError.self) {
            try await session.text(try URL(fromTest: "http://127.0.0.1:1/"))
        }
        #expect(refused?.code == .cannotConnectToHost)
        let request = URLRequest("GET", try url(origin, "/echo"), body: "body")
        let lab = try await SessionLab()
        // Our session behaves in the same way.
        for session in [session, lab.session()] {
            let error = await #expect(throws: (any Error).self) { try await session.text(request) }
            #expect(error.map { ($0 as NSError).code } == -1103)
            let upload = await #expect(throws: (any Error).self) {
                try await session.upload(
                    for: URLRequest("GET", request.url ?? URL(fileURLWithPath: "/")),
                    from: Data("body".utf8)
                )
            }
            #expect(upload.map { ($0 as NSError).code } == -1103)
        }
        #expect(origin.requests.isEmpty)
        await lab.stop()
        await origin.stop()
    }
}
#endif
