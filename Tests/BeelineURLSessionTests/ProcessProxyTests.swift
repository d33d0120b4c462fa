// SPDX-License-Identifier: Apache-2.0

#if !canImport(Darwin)
import Beeline
import BeelineProxy
import BeelineTesting
import BeelineURLSession
import Foundation
import FoundationNetworking
import NIOCore
import Testing

/// Plain URLSession with names that only our upstream knows. The proxy applies to a whole process, so each test has its
/// own.
@Suite("URLSession through the proxy", .timeLimit(.minutes(2)))
struct ProcessProxyTests {
    @Test("every method works with every kind of body and task")
    func methodsAndBodies() async throws {
        await #expect(processExitsWith: .success) { try await URLSessionLab.run { try await $0.methodsAndBodies() } }
    }

    @Test("redirects, cookies and cancellation work")
    func redirectsAndCookies() async throws {
        await #expect(processExitsWith: .success) { try await URLSessionLab.run { try await $0.redirectsAndCookies() } }
    }

    @Test("tasks with a delegate work: data, uploads, downloads, redirects and cancellation")
    func delegates() async throws {
        await #expect(processExitsWith: .success) { try await URLSessionLab.run { try await $0.delegates() } }
    }

    /// Runs in a process with its own root certificates, since Foundation on Linux has no other way to trust an
    /// authority. This needs a mount namespace, which some containers forbid.
    @Test("TLS and HTTP/2 work", .enabled(if: TrustingProcess.isPossible, "this container allows no namespaces"))
    func http2() async throws {
        let result = try await TrustingProcess.run(test: "ProcessProxyTests/insideTrustingProcess")
        #expect(result.status == 0 && result.output.contains("1 test"), "\(result.output)")
    }

    @Test(
        "TLS and HTTP/2 work in a process that trusts our authority",
        .enabled(if: TrustingProcess.bundle != nil, "this process does not trust our authority")
    )
    func insideTrustingProcess() async throws { try await URLSessionLab.run { try await $0.http2() } }

    @Test(
        "TLS is the session's own: it sends the server name and refuses a certificate that it does not trust"
    )
    func secure() async throws {
        await #expect(processExitsWith: .success) { try await URLSessionLab.run { try await $0.secure() } }
    }
}

/// A site that is reachable only through the proxy, in a process whose sessions use it.
struct URLSessionLab {
    let plain: LoopbackOrigin
    let site: LoopbackOrigin
    let proxy: BeelineProxy

    static func run(_ body: @escaping @Sendable (URLSessionLab) async throws -> Void) async throws {
        let authority = try TestAuthority()
        if let bundle = TrustingProcess.bundle { try Data(authority.rootPEM.utf8).write(to: bundle) }
        let handler: LoopbackOrigin.Handler = { try await answer($0) }
        let plain = try await LoopbackOrigin.start(handler: handler)
        let names = ["www.site.example", "api.site.example"]
        var tls = ServerTLS()
        tls.certificates = try names.map { try authority.certificate(for: $0) }
        tls.applicationProtocols = ["h2", "http/1.1"]
        let site = try await LoopbackOrigin.start(tls: tls, handler: handler)
        let upstream = try await UpstreamServer.start()
        for name in names { try upstream.zone.set(name, to: ["127.0.0.1"]) }
        var settings = ClientConfiguration()
        settings.upstreams = [.dnspod(at: [upstream.endpoint])]
        settings.resolver.check.allowsLocalAnswers = true
        settings.resolver.families = .v4
        settings.proxies = .none
        var configuration = ProxyConfiguration()
        configuration.credentials = .token()
        configuration.policy.allowsLocalAnswers = true
        configuration.policy.tunnelPorts = []
        let proxy = try await BeelineProxy.start(configuration, client: try BeelineClient(settings))
        proxy.installForProcess()
        let lab = URLSessionLab(plain: plain, site: site, proxy: proxy)
        try await withTimeLimit(.seconds(60), for: { "URLSession" }) { try await body(lab) }
    }

    /// Answers `/body` with the method, the size and the first octet of the body.
    private static func answer(_ request: ReceivedRequest) async throws -> Reply {
        switch request.path {
        case "/body":
            return .text("\(request.method) \(request.bodySize) \(request.body.first ?? 0)")
                .adding(.eTag, "\"\(request.bodySize)\"")
        default: return try await Routes.standard(request)
        }
    }

    func url(_ name: String, _ path: String, secure: Bool = false) throws -> URL {
        try URL(fromTest: "\(secure ? "https" : "http")://\(name):\(secure ? site.port : plain.port)\(path)")
    }

    static func check(_ isRight: Bool, _ what: String) throws {
        if !isRight { throw Wrong(what: what) }
    }

    struct Wrong: Error {
        let what: String
    }

    // MARK: The table

    func methodsAndBodies() async throws {
        let session = URLSession(configuration: .ephemeral)
        let url = try url("www.site.example", "/body")
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let largest = ProcessInfo.processInfo.environment["BEELINE_SOAK"] == nil ? 5 << 20 : 100 << 20
        for size in [0, 1, 1 << 20, largest] {
            let data = Data(repeating: 7, count: size)
            let file = folder.appendingPathComponent("\(size)")
            try data.write(to: file)
            for method in ["POST", "PUT", "PATCH", "DELETE"] {
                let expected = "\(method) \(size) \(size == 0 ? 0 : 7)"
                var request = URLRequest(url: url)
                request.httpMethod = method
                // A data task with a body in the request.
                var carrying = request
                if size > 0 { carrying.httpBody = data }
                try await expect(session, request: carrying, answer: expected)
                // Upload tasks, from memory and from a file.
                let (uploaded, _) = try await session.upload(for: request, from: data)
                try Self.check(String(decoding: uploaded, as: UTF8.self) == expected, "upload \(expected)")
                let (filed, _) = try await session.upload(for: request, fromFile: file)
                try Self.check(String(decoding: filed, as: UTF8.self) == expected, "file \(expected)")
                // A stream of unknown length.
                if size > 0 {
                    var streamed = request
                    streamed.httpBodyStream = InputStream(data: data)
                    try await expect(session, request: streamed, answer: expected)
                }
            }
        }
        for method in ["GET", "HEAD", "OPTIONS"] {
            var request = URLRequest(url: url)
            request.httpMethod = method
            try await expect(session, request: request, answer: method == "HEAD" ? "" : "\(method) 0 0")
        }
        let bytes = try self.url("www.site.example", "/bytes/3000000")
        let (location, response) = try await session.download(from: bytes)
        try Self.check(try Data(contentsOf: location).count == 3_000_000, "download")
        try Self.check((response as? HTTPURLResponse)?.statusCode == 200, "download")
        // Names that the system resolves still work.
        try await expect(
            session,
            request: URLRequest(url: try URL(fromTest: "http://127.0.0.1:\(plain.port)/body")),
            answer: "GET 0 0"
        )
        try Self.check(await proxy.counts().forwarded > 40, "all of it went through the proxy")
    }

    func expect(_ session: URLSession, request: URLRequest, answer expected: String) async throws {
        let (data, response) = try await session.data(for: request)
        let status = (response as? HTTPURLResponse)?.statusCode
        let text = String(decoding: data, as: UTF8.self)
        try Self.check(status == 200 && text == expected, "\(request.httpMethod ?? "") \(expected): \(text)")
    }

    func redirectsAndCookies() async throws {
        let configuration = URLSessionConfiguration.ephemeral
        let session = URLSession(configuration: configuration)
        let target = try url("api.site.example", "/echo").absoluteString
        let to = target.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        for status in [301, 302, 303, 307, 308] {
            let (data, response) = try await session.data(
                from: url("www.site.example", "/redirect?status=\(status)&to=\(to)")
            )
            try Self.check(response.url?.host == "api.site.example", "redirect \(status)")
            try Self.check(String(decoding: data, as: UTF8.self).contains("\"GET\""), "redirect \(status)")
        }
        // The domain's cookie goes to the other name, and the host's cookie does not.
        let cookies = "value=d%3D1%3B%20Domain%3Dsite.example%3B%20Path%3D%2F&value2=h%3D2%3B%20Path%3D%2F"
        _ = try await session.data(from: url("www.site.example", "/set-cookie?\(cookies)"))
        _ = try await session.data(from: url("www.site.example", "/echo/own"))
        _ = try await session.data(from: url("api.site.example", "/echo/other"))
        let sent = { (path: String) in plain.requests.last { $0.path == path }?.cookies.keys.sorted() ?? [] }
        try Self.check(sent("/echo/own") == ["d", "h"], "cookies of the name: \(sent("/echo/own"))")
        try Self.check(sent("/echo/other") == ["d"], "cookies of the domain: \(sent("/echo/other"))")

        let gate = Gate()
        let slow = try await LoopbackOrigin.start { _ in
            try await gate.wait()
            return .text("late")
        }
        let name = try URL(fromTest: "http://www.site.example:\(slow.port)/")
        let task = Task { try await session.data(from: name) }
        try await gate.arrivals(atLeast: 1)
        task.cancel()
        do {
            _ = try await task.value
            throw Wrong(what: "it was cancelled")
        } catch let error as URLError {
            try Self.check(error.code == .cancelled, "cancelled: \(error)")
        }
        // The origin sees that its connection is closed.
        try await slow.connections { $0.open == 0 }
        do {
            _ = try await session.data(from: try url("nobody.example", "/"))
        } catch let error as URLError {
            throw Wrong(what: "a refusal of the proxy is a response: \(error)")
        }
    }

    func secure() async throws {
        let session = URLSession(configuration: .ephemeral)
        do {
            _ = try await session.data(from: url("www.site.example", "/echo", secure: true))
            throw Wrong(what: "the certificate's issuer is not trusted")
        } catch let error as URLError {
            try Self.check("\(error)".contains("certificate"), "\(error)")
        }
        try await site.connections { $0.accepted == 1 }
        try Self.check(await proxy.counts().tunnels == 1, "a tunnel")
    }
}
#endif
