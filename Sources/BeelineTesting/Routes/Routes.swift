// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// Ready-made handlers for ``LoopbackOrigin``.
///
/// ```swift
/// let origin = try await LoopbackOrigin.start(handler: Routes.standard)
/// ```
package enum Routes {
    /// All routes by path. Any other path is a 404.
    ///
    /// | path | reply |
    /// | --- | --- |
    /// | `/echo…` | the request as JSON |
    /// | `/status/404` | that status, with an empty body |
    /// | `/bytes/1000` | that number of zero bytes |
    /// | `/chunked/3` | that number of chunks `chunk 1\n`, … |
    /// | `/gzip`, `/deflate` | the echo, compressed |
    /// | `/redirect?to=…&status=307` | a redirect; the default status is 302 |
    /// | `/set-cookie?…` | a Set-Cookie field for each query parameter `value`, `value2`… `value9` |
    /// | `/login` | for POST with `user` and `password` |
    /// | `/me` | the name of the logged-in user, or 401 |
    /// | `/basic?user=…&password=…` | 200 for those credentials, else 401 with a challenge (RFC 7617) |
    /// | `/trailers` | a chunked body with the trailer field `Digest: done` |
    /// | `/hints` | 103 with a Link, then 200 (RFC 8297) |
    /// | `/ws` | a WebSocket that echoes every frame |
    package static let standard: LoopbackOrigin.Handler = { request in
        let parts = request.path.split(separator: "/").map(String.init)
        let count = parts.dropFirst().first.flatMap { Int($0) }
        switch (parts.first ?? "", count) {
        case ("echo", _): return try echo(request)
        case ("status", let code?) where (200...599).contains(code):
            return .status(HTTPResponse.Status(code: code))
        case ("bytes", let count?) where count >= 0:
            return Reply(fields: [.contentType: "application/octet-stream"], body: [.zeros(count)])
        case ("chunked", let count?) where (0...100_000).contains(count):
            return Reply(body: (0..<count).map { .text("chunk \($0 + 1)\n") }, framing: .chunked)
        case ("gzip", _): return try echo(request).compressed(.gzip)
        case ("deflate", _): return try echo(request).compressed(.deflate)
        case ("redirect", _): return redirect(request)
        case ("set-cookie", _): return setCookie(request)
        case ("login", _): return login(request)
        case ("me", _): return me(request)
        case ("basic", _): return basic(request)
        case ("trailers", _): return .chunks("body\n", trailers: [.digest: "done"])
        case ("hints", _):
            let hint = HTTPResponse(status: .earlyHints, headerFields: [.link: "</style.css>; rel=preload; as=style"])
            return Reply(body: ["hinted\n"], framing: .length, interim: [hint])
        case ("ws", _): return webSocketEcho(request)
        default: return .text("no route for \(request.target)\n", status: .notFound)
        }
    }

    /// Replies with the request as JSON.
    package static func echo(_ request: ReceivedRequest) throws -> Reply {
        try .json(Echo(request))
    }

    /// Logs in by a POST form with `user` and `password`. The correct password is the user name reversed; it sets the session
    /// cookie that ``me(_:)`` reads. Any other request is a 403.
    package static func login(_ request: ReceivedRequest) -> Reply {
        guard request.method == .post, let user = request.form["user"], !user.isEmpty,
            request.form["password"] == String(user.reversed())
        else { return .text("not you\n", status: .forbidden) }
        return .text("welcome \(user)\n").adding(.setCookie, "session=\(user); Path=/; HttpOnly")
    }

    /// Replies with the user name in the session cookie, or 401.
    package static func me(_ request: ReceivedRequest) -> Reply {
        request.cookies["session"].map { .text("\($0)\n") } ?? .text("log in first\n", status: .unauthorized)
    }

    private static func redirect(_ request: ReceivedRequest) -> Reply {
        let status = request.query["status"].flatMap { Int($0) }.map { HTTPResponse.Status(code: $0) }
        return .redirect(to: request.query["to"] ?? "/echo", status: status ?? .found)
    }

    private static func setCookie(_ request: ReceivedRequest) -> Reply {
        let query = request.query
        let values = ["value"] + (2...9).map { "value\($0)" }
        return values.compactMap { query[$0] }.reduce(.text("set\n")) { $0.adding(.setCookie, $1) }
    }

    private static func basic(_ request: ReceivedRequest) -> Reply {
        let credentials = "\(request.query["user"] ?? ""):\(request.query["password"] ?? "")"
        guard request.fields[.authorization] == "Basic \(TestBase64.encode(Array(credentials.utf8)))" else {
            return .text("who are you?\n", status: .unauthorized)
                .adding(.wwwAuthenticate, "Basic realm=\"test\", charset=\"UTF-8\"")
        }
        return .text("hello\n")
    }
}

extension HTTPField.Name {
    /// The Digest field, which HTTPTypes does not define.
    static var digest: Self { Self("Digest") ?? .eTag }
    /// The Link field (RFC 8288).
    static var link: Self { Self("Link") ?? .eTag }
}
