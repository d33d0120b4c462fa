// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import HTTPTypes

/// The site that the browsers of the tests open.
enum BrowserSite {
    /// | path | answers |
    /// | --- | --- |
    /// | `/login` | POST only: sets a session cookie that scripts cannot read |
    /// | `/logout` | deletes the session cookie |
    /// | `/page` | a page that says whether its request was logged in |
    /// | `/cookies` | the names of the request's cookies, sorted |
    /// | `/set?value=…` | sets cookies: one for each of `value`, `value2`, … |
    /// | `/frame?src=…` | a page with a frame |
    /// | `/ws` | a WebSocket that echoes every frame |
    static let handler: LoopbackOrigin.Handler = { request in
        switch request.path {
        case "/login" where request.method == .post:
            return page("welcome").adding(.setCookie, "session=42; Path=/; Secure; HttpOnly; SameSite=Strict")
                .adding(.setCookie, "theme=dark; Path=/; Secure; Max-Age=86400")
        case "/logout":
            return page("bye").adding(.setCookie, "session=; Path=/; Secure; HttpOnly; Max-Age=0")
        case "/page": return page(request.cookies["session"].map { "logged in: \($0)" } ?? "log in first")
        case "/cookies": return page(request.cookies.keys.sorted().joined(separator: " "))
        case "/set":
            let query = request.query
            let values = ["value", "value2", "value3", "value4"].compactMap { query[$0] }
            return values.reduce(page("set")) { $0.adding(.setCookie, $1) }
        case "/frame": return page("<iframe id=\"frame\" src=\"\(request.query["src"] ?? "")\"></iframe>")
        case "/ws": return Routes.webSocketEcho(request)
        case "/upload": return .text(request.bodyHash.hex)
        default: return .text("no such page", status: .notFound)
        }
    }

    /// The text in the body of a page.
    static func text(_ page: String) -> String {
        guard let start = page.range(of: "<body>"), let end = page.range(of: "</body>") else { return page }
        return String(page[start.upperBound..<end.lowerBound])
    }

    private static func page(_ body: String) -> Reply {
        Reply(
            fields: [.contentType: "text/html; charset=utf-8"],
            body: [.text("<!doctype html><link rel=\"icon\" href=\"data:,\"><title>a page</title><body>\(body)</body>")]
        )
    }
}
