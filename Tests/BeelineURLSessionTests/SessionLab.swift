// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import BeelineURLSession
import Foundation
import NIOConcurrencyHelpers

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Servers on loopback, a client whose HTTPDNS service knows their names, and sessions that use the client.
struct SessionLab {
    /// The server over TLS, whose names only our upstream knows.
    let site: LoopbackOrigin
    /// The server over plain HTTP, reachable as `localhost`.
    let open: LoopbackOrigin
    let upstream: UpstreamServer
    let client: BeelineClient

    init(
        names: [String] = ["a.test", "b.test"],
        handler: @escaping LoopbackOrigin.Handler = Routes.standard,
        configure: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws {
        let authority = try TestAuthority()
        var tls = ServerTLS()
        tls.certificates = try names.map { try authority.certificate(for: $0) }
        site = try await LoopbackOrigin.start(tls: tls, handler: handler)
        open = try await LoopbackOrigin.start(handler: handler)
        upstream = try await UpstreamServer.start()
        for name in names + ["foreign.test"] { try upstream.zone.set(name, to: ["127.0.0.1"]) }
        var configuration = ClientConfiguration()
        configuration.upstreams = [.dnspod(at: [upstream.endpoint])]
        configuration.resolver.check.allowsLocalAnswers = true
        configuration.resolver.families = .v4
        configuration.tls.trustsSystemRoots = false
        configuration.tls.rootPEMs = [authority.rootPEM]
        configuration.proxies = .none
        configure(&configuration)
        client = try BeelineClient(configuration)
    }

    /// A session that uses the client.
    func session(
        _ settings: BeelineURLProtocol.Settings = .init(),
        delegate: (any URLSessionDelegate)? = nil,
        _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        let configuration = URLSessionConfiguration.beeline(client, settings: settings, base: .ephemeral)
        change(configuration)
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    func url(_ path: String, at name: String = "a.test") throws -> URL {
        try URL(fromTest: "https://\(name):\(site.port)\(path)")
    }

    func openURL(_ path: String, at name: String = "localhost") throws -> URL {
        try URL(fromTest: "http://\(name):\(open.port)\(path)")
    }

    func stop() async {
        await client.shutDown()
        await site.stop()
        await open.stop()
        await upstream.stop()
    }
}

extension URLRequest {
    init(_ method: String = "GET", _ url: URL, body: String? = nil, fields: [String: String] = [:]) {
        self.init(url: url)
        httpMethod = method
        httpBody = body.map { Data($0.utf8) }
        for (name, value) in fields { setValue(value, forHTTPHeaderField: name) }
    }
}

extension URLSession {
    /// Returns the body as text, and the response.
    func text(_ request: URLRequest) async throws -> (String, HTTPURLResponse) {
        let (data, response) = try await data(for: request)
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        return (String(decoding: data, as: UTF8.self), response)
    }

    func text(_ url: URL) async throws -> (String, HTTPURLResponse) { try await text(URLRequest(url: url)) }
}

/// A delegate that records its calls and lets tests wait for them.
final class Recorder: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
    struct Story: Sendable {
        var responses: [HTTPURLResponse] = []
        var pieces: [Int] = []
        var body = Data()
        var redirects: [(response: HTTPURLResponse, next: URLRequest)] = []
        var bodiesAsked = 0
        var sent: [(count: Int64, total: Int64, expected: Int64, hasResponse: Bool)] = []
        /// The size of a download's file.
        var downloaded: Int?
        var end: Result<Void, any Error>?
    }

    private let state = NIOLockedValueBox(Story())
    private let ended = Gate()
    private let began = Gate()
    /// Returns the request to follow a redirect with; nil refuses it.
    let redirect: @Sendable (URLRequest) -> URLRequest?
    /// Returns a new body stream.
    let newBody: @Sendable () -> InputStream?
    /// The answer to each response.
    let disposition: URLSession.ResponseDisposition
    /// Runs for each piece, on the delegate queue.
    let atPiece: @Sendable (Data) -> Void

    init(
        disposition: URLSession.ResponseDisposition = .allow,
        redirect: @escaping @Sendable (URLRequest) -> URLRequest? = { $0 },
        newBody: @escaping @Sendable () -> InputStream? = { nil },
        atPiece: @escaping @Sendable (Data) -> Void = { _ in }
    ) {
        self.disposition = disposition
        self.redirect = redirect
        self.newBody = newBody
        self.atPiece = atPiece
    }

    var story: Story { state.withLockedValue { $0 } }

    /// Waits for the end of the task.
    func end() async throws -> Story {
        try await withTimeLimit(.seconds(20), for: { "the end of a task" }) { [ended] in try await ended.wait() }
        return story
    }

    /// Waits for the head of the response.
    func head() async throws {
        try await withTimeLimit(.seconds(20), for: { "the head of a response" }) { [began] in try await began.wait() }
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        state.withLockedValue { $0.responses += [response as? HTTPURLResponse].compactMap { $0 } }
        began.open()
        completionHandler(disposition)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        state.withLockedValue { story in
            story.pieces.append(data.count)
            if story.body.count < 1 << 20 { story.body += data }
        }
        atPiece(data)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        state.withLockedValue { $0.redirects.append((response, request)) }
        completionHandler(redirect(request))
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        state.withLockedValue { $0.bodiesAsked += 1 }
        completionHandler(newBody())
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        state.withLockedValue { story in
            story.sent.append((bytesSent, totalBytesSent, totalBytesExpectedToSend, !story.responses.isEmpty))
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        state.withLockedValue { $0.end = error.map { .failure($0) } ?? .success(()) }
        ended.open()
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        let size = (try? Data(contentsOf: location))?.count
        state.withLockedValue { $0.downloaded = size }
    }
}
