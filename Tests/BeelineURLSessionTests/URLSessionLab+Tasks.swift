// SPDX-License-Identifier: Apache-2.0

#if !canImport(Darwin)
import BeelineProxy
import BeelineTesting
import Foundation
import FoundationNetworking

/// Further tests for `URLSessionLab`: tasks with a delegate, and HTTP/2.
extension URLSessionLab {
    private func session(_ recorder: Recorder) -> URLSession {
        URLSession(configuration: .ephemeral, delegate: recorder, delegateQueue: nil)
    }

    /// Runs one task to its end.
    private func story(
        of recorder: Recorder = Recorder(),
        _ task: (URLSession) -> URLSessionTask
    ) async throws -> Recorder.Story {
        let session = session(recorder)
        task(session).resume()
        let story = try await recorder.end()
        session.finishTasksAndInvalidate()
        return story
    }

    private func check(_ story: Recorder.Story, _ expected: String) throws {
        if case .failure(let error)? = story.end { throw Wrong(what: "\(expected): \(error)") }
        let text = String(decoding: story.body, as: UTF8.self)
        try Self.check(story.responses.last?.statusCode == 200 && text == expected, "\(expected): \(text)")
    }

    func delegates() async throws {
        let data = Data(repeating: 7, count: 1 << 20)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try data.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        var post = URLRequest(url: try url("www.site.example", "/body"))
        post.httpMethod = "POST"
        let bare = post
        let expected = "POST \(1 << 20) 7"
        try check(try await story { $0.dataTask(with: URLRequest(url: bare.url ?? file)) }, "GET 0 0")
        post.httpBody = data
        let carrying = post
        try check(try await story { $0.dataTask(with: carrying) }, expected)
        try check(try await story { $0.uploadTask(with: bare, from: data) }, expected)
        try check(try await story { $0.uploadTask(with: bare, fromFile: file) }, expected)
        let streaming = Recorder(newBody: { InputStream(data: data) })
        try check(try await story(of: streaming) { $0.uploadTask(withStreamedRequest: bare) }, expected)
        // A data task gets pieces, and a download task gets a file.
        let bytes = URLRequest(url: try url("www.site.example", "/bytes/3000000"))
        let pieces = try await story { $0.dataTask(with: bytes) }.pieces
        try Self.check(pieces.count > 1 && pieces.reduce(0, +) == 3_000_000, "pieces \(pieces.count)")
        let download = try await story { $0.downloadTask(with: bytes) }
        try Self.check(download.downloaded == 3_000_000, "download \(String(describing: download.downloaded))")
        try await redirectsWithDelegate()
        try Self.check(await proxy.counts().forwarded >= 9, "all of it went through the proxy")
    }

    private func redirectsWithDelegate() async throws {
        let to = try url("api.site.example", "/body").absoluteString
            .addingPercentEncoding(withAllowedCharacters: .alphanumerics)
        let away = URLRequest(url: try url("www.site.example", "/redirect?to=\(to ?? "")"))
        let followed = try await story { $0.dataTask(with: away) }
        try check(followed, "GET 0 0")
        try Self.check(followed.redirects.first?.next.url?.host == "api.site.example", "it asked where to")
        let stayed = try await story(of: Recorder(redirect: { _ in nil })) { $0.dataTask(with: away) }
        try Self.check(stayed.responses.last?.statusCode == 302, "a redirect that is not followed")
        let gate = Gate()
        let slow = try await LoopbackOrigin.start { _ in
            try await gate.wait()
            return .text("late")
        }
        let name = URLRequest(url: try URL(fromTest: "http://www.site.example:\(slow.port)/"))
        let recorder = Recorder()
        let session = session(recorder)
        let task = session.dataTask(with: name)
        task.resume()
        try await gate.arrivals(atLeast: 1)
        task.cancel()
        guard case .failure(let error)? = try await recorder.end().end else { throw Wrong(what: "it was cancelled") }
        try Self.check((error as? URLError)?.code == .cancelled, "cancelled: \(error)")
        try await slow.connections { $0.open == 0 }
        await slow.stop()
    }

    /// Needs a process that trusts our authority.
    func http2() async throws {
        let session = URLSession(configuration: .ephemeral)
        let url = try url("www.site.example", "/body", secure: true)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        for size in [0, 1, 1 << 20, 5 << 20] {
            let data = Data(repeating: 7, count: size)
            try data.write(to: file)
            for method in ["POST", "PUT"] {
                var request = URLRequest(url: url)
                request.httpMethod = method
                let (text, _) = try await session.upload(for: request, from: data)
                let expected = "\(method) \(size) \(size == 0 ? 0 : 7)"
                try Self.check(String(decoding: text, as: UTF8.self) == expected, "upload \(expected)")
                let (filed, _) = try await session.upload(for: request, fromFile: file)
                try Self.check(String(decoding: filed, as: UTF8.self) == expected, "file \(expected)")
                guard size > 0 else { continue }
                request.httpBodyStream = InputStream(data: data)
                try await expect(session, request: request, answer: expected)
            }
        }
        try await expect(session, request: URLRequest(url: url), answer: "GET 0 0")
        let bytes = try self.url("www.site.example", "/bytes/3000000", secure: true)
        let (location, _) = try await session.download(from: bytes)
        try Self.check(try Data(contentsOf: location).count == 3_000_000, "download")
        // A redirect to another name, with its own certificate and its own tunnel.
        let to = try self.url("api.site.example", "/body", secure: true).absoluteString
            .addingPercentEncoding(withAllowedCharacters: .alphanumerics)
        let away = try self.url("www.site.example", "/redirect?to=\(to ?? "")", secure: true)
        let (text, response) = try await session.data(from: away)
        try Self.check(response.url?.host == "api.site.example", "redirect")
        try Self.check(String(decoding: text, as: UTF8.self) == "GET 0 0", "redirect")
        try Self.check(site.requests.allSatisfy { $0.version == "HTTP/2" }, "HTTP/2 was agreed on")
        try Self.check(Set(site.requests.compactMap(\.connection.serverName)).count == 2, "two names")
        let counts = await proxy.counts()
        try Self.check(counts.forwarded == 0 && counts.tunnels >= 2, "by tunnels: \(counts)")
    }
}
#endif
