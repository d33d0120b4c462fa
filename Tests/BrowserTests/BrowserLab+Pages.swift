// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import BeelineWebDriver
import Foundation
import NIOCore
import Testing

/// Runs a test in a browser; stops the browser and the servers afterwards, even if the test throws.
func withBrowser(
    _ kind: BrowserKind,
    isProxied: Bool = true,
    trustsAuthority: Bool = true,
    protocols: [String] = ["h2", "http/1.1"],
    cookieInterval: Duration = .milliseconds(500),
    handler: @escaping LoopbackOrigin.Handler = BrowserSite.handler,
    _ test: (BrowserLab) async throws -> Void
) async throws {
    let lab = try await BrowserLab(
        kind,
        isProxied: isProxied,
        trustsAuthority: trustsAuthority,
        protocols: protocols,
        cookieInterval: cookieInterval,
        handler: handler
    )
    do {
        try await test(lab)
    } catch {
        await lab.stop()
        throw error
    }
    await lab.stop()
}

extension BrowserLab {
    /// Logs in with the client of this process.
    func login() async throws {
        let response = try await client.post("\(url("www.a.test", "/login"))", body: .form([("user", "anne")]))
        #expect(response.status == .ok)
    }

    /// The text that the client of this process gets from a path.
    func native(_ path: String) async throws -> String {
        let response = try await client.get("\(url("www.a.test", path))")
        return BrowserSite.text(String(buffer: try await response.collect(upTo: 1 << 20)))
    }

    /// The text that a script in the page gets from a path.
    func fetch(_ path: String, method: String = "GET") async throws -> String {
        let script = "fetch(\"\(path)\", {method: \"\(method)\"}).then(answer => answer.text())"
        return BrowserSite.text(try await evaluate(script))
    }

    /// Opens a page with a frame that shows the cookies of its request.
    func open(_ name: String, framing other: String) async throws {
        let source = try url(other, "/cookies")
        try await browser.navigate(to: url(name, "/frame?src=\(source)"))
    }

    /// The names of the cookies that the frame's request carried, sorted.
    func framed() async throws -> [String] {
        let all = try await site.requests(atLeast: 2)
        let request = try #require(all.first { $0.path == "/cookies" })
        return request.cookies.keys.sorted()
    }
}
