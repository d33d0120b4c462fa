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

@Suite("BeelineURLProtocol: redirects")
struct ProtocolRedirectTests {
    @Test(
        "a redirect is followed with the right method and body, and the response has the last URL",
        arguments: [
            (302, "GET", 0), (303, "GET", 0), (307, "POST", 4), (308, "POST", 4),
        ]
    )
    func redirects(_ status: Int, _ method: String, _ size: Int) async throws {
        let lab = try await SessionLab()
        let target = try lab.url("/echo", at: "b.test").absoluteString
        let start = try lab.url("/redirect?status=\(status)&to=\(target)")
        let (_, response) = try await lab.session().text(URLRequest("POST", start, body: "body"))
        #expect(response.url?.absoluteString == target)
        let last = try #require(lab.site.requests.last)
        #expect(last.method.rawValue == method && last.bodySize == size && last.authority == "b.test:\(lab.site.port)")
        await lab.stop()
    }

    @Test("a delegate gets each redirect, with the URL of its hop")
    func redirectTold() async throws {
        let lab = try await SessionLab()
        let recorder = Recorder()
        let start = try lab.url("/redirect?to=/redirect?to=/echo")
        lab.session(delegate: recorder).dataTask(with: start).resume()
        let story = try await recorder.end()
        #expect(story.redirects.map(\.response.url?.path) == ["/redirect", "/redirect"])
        #expect(story.redirects.map(\.next.url?.path) == ["/redirect", "/echo"])
        #expect(story.responses.map(\.statusCode) == [200])
        await lab.stop()
    }

    @Test("the delegate of a single task is asked about redirects", arguments: [true, false])
    func redirectOfOwnDelegate(_ hasAnother: Bool) async throws {
        let lab = try await SessionLab()
        let (own, other) = (Recorder(redirect: { _ in nil }), Recorder())
        let session = lab.session(delegate: hasAnother ? other : nil)
        let request = URLRequest("POST", try lab.url("/redirect?status=307&to=/echo"), body: "body")
        let (_, response) = try await session.data(for: request, delegate: own)
        #expect((response as? HTTPURLResponse)?.statusCode == 307 && own.story.redirects.count == 1)
        #expect(other.story.redirects.isEmpty)
        await lab.stop()
    }

    @Test("a redirect keeps the user and password of its URL, although a delegate answers it")
    func redirectWithUser() async throws {
        let lab = try await SessionLab()
        let recorder = Recorder()
        let away = "https://bob:two@b.test:\(lab.site.port)/echo"
        let home = "https://ada:one@a.test:\(lab.site.port)"
        let start = try URL(fromTest: "\(home)/redirect?to=/redirect?to=\(away)")
        lab.session(delegate: recorder).dataTask(with: start).resume()
        let story = try await recorder.end()
        #expect(story.redirects.map(\.next.url?.absoluteString) == ["\(home)/redirect?to=\(away)", away])
        let (ada, bob) = ("Basic YWRhOm9uZQ==", "Basic Ym9iOnR3bw==")
        #expect(lab.site.requests.map { $0.fields[.authorization] } == [ada, ada, bob])
        await lab.stop()
    }

    @Test("a delegate that refuses a redirect gets it as the response")
    func redirectRefused() async throws {
        let lab = try await SessionLab()
        let recorder = Recorder(redirect: { _ in nil })
        lab.session(delegate: recorder).dataTask(with: try lab.url("/redirect?to=/echo")).resume()
        let story = try await recorder.end()
        #expect(story.responses.map(\.statusCode) == [302] && lab.site.requests.count == 1)
        await lab.stop()
    }

    @Test("a delegate can change the URL and add fields to a redirect")
    func redirectChanged() async throws {
        let lab = try await SessionLab()
        let other = try lab.url("/echo?other", at: "b.test")
        let recorder = Recorder(redirect: { request in
            var request = request
            request.url = other
            request.setValue("yes", forHTTPHeaderField: "X-Delegate")
            return request
        })
        lab.session(delegate: recorder).dataTask(with: try lab.url("/redirect?to=/echo")).resume()
        #expect(try await recorder.end().responses.map(\.url) == [other])
        #expect(lab.site.requests.last?.fields.first { $0.name.canonicalName == "x-delegate" }?.value == "yes")
        await lab.stop()
    }

    @Test("a delegate can remove and set fields, Host, method and body of a redirect")
    func redirectRewritten() async throws {
        let lab = try await SessionLab()
        let recorder = Recorder(redirect: { request in
            var request = request
            request.httpMethod = "POST"
            request.httpBody = Data("again".utf8)
            request.setValue(nil, forHTTPHeaderField: "X-Secret")
            request.setValue(nil, forHTTPHeaderField: "Authorization")
            request.setValue("own=1", forHTTPHeaderField: "Cookie")
            request.setValue("other.test", forHTTPHeaderField: "Host")
            return request
        })
        let fields = ["X-Secret": "1", "X-Open": "2", "Authorization": "Bearer x"]
        let request = URLRequest("POST", try lab.url("/redirect?status=302&to=/echo"), body: "first", fields: fields)
        lab.session(delegate: recorder).dataTask(with: request).resume()
        #expect(try await recorder.end().redirects.first?.next.httpMethod == "GET")
        let last = try #require(lab.site.requests.last)
        #expect(last.method == .post && last.text == "again" && last.authority == "other.test")
        let sent = Dictionary(last.fields.map { ($0.name.canonicalName, $0.value) }) { $1 }
        #expect(sent["x-secret"] == nil && sent["authorization"] == nil && sent["x-open"] == "2")
        #expect(sent["cookie"] == "own=1")
        await lab.stop()
    }

    @Test("each redirect starts from the request that the delegate returned for the one before")
    func redirectsRewritten() async throws {
        let lab = try await SessionLab()
        let recorder = Recorder(redirect: { request in
            var request = request
            request.setValue("yes", forHTTPHeaderField: "X-Delegate")
            return request
        })
        lab.session(delegate: recorder).dataTask(with: try lab.url("/redirect?to=/redirect?to=/echo")).resume()
        let told = try await recorder.end().redirects.map { $0.next.value(forHTTPHeaderField: "X-Delegate") }
        #expect(told == [nil, "yes"])
        await lab.stop()
    }

    @Test("a redirect that needs a spent stream is the response when the delegate refuses it")
    func refusedWithSpentStream() async throws {
        let lab = try await SessionLab()
        let recorder = Recorder(redirect: { _ in nil })
        var request = URLRequest("PUT", try lab.url("/redirect?status=307&to=/echo"))
        request.httpBodyStream = InputStream(data: Data("first".utf8))
        lab.session(delegate: recorder).dataTask(with: request).resume()
        let story = try await recorder.end()
        #expect(story.responses.map(\.statusCode) == [307] && story.bodiesAsked == 0)
        await lab.stop()
    }

    @Test("a redirect that needs the body stream again asks for a new one")
    func redirectWithStream() async throws {
        let lab = try await SessionLab()
        let recorder = Recorder(newBody: { InputStream(data: Data("again".utf8)) })
        var request = URLRequest("PUT", try lab.url("/redirect?status=307&to=/echo"))
        request.httpBodyStream = InputStream(data: Data("first".utf8))
        lab.session(delegate: recorder).dataTask(with: request).resume()
        #expect(try await recorder.end().bodiesAsked == 1)
        #expect(lab.site.requests.map(\.text) == ["first", "again"])
        await lab.stop()
    }

    @Test("a redirect that needs a spent stream is an error, not an empty body")
    func redirectWithSpentStream() async throws {
        let lab = try await SessionLab()
        var request = URLRequest("PUT", try lab.url("/redirect?status=307&to=/echo"))
        request.httpBodyStream = InputStream(data: Data("first".utf8))
        let (spent, session) = (request, lab.session())
        let error = await #expect(throws: URLError.self) { try await session.text(spent) }
        #expect(error?.code == .requestBodyStreamExhausted && lab.site.requests.count == 1)
        await lab.stop()
    }
}
