// SPDX-License-Identifier: Apache-2.0

import CookieJar

/// A browser that runs, with a profile of its own. Calls may overlap.
protocol BrowserSession: Sendable {
    /// Loads a page, and returns when it is there.
    func navigate(to url: String) async throws(WebDriverError)

    /// Evaluates an expression of JavaScript in the page, and waits for it where it is a promise.
    ///
    /// - Returns: what it gives, as a JSON text.
    func evaluate(_ expression: String) async throws(WebDriverError) -> String

    /// Every cookie; those that the browser does not show now as it last did.
    func cookies() async throws(WebDriverError) -> [Cookie]

    /// Puts a cookie in.
    func set(_ cookie: Cookie) async throws(WebDriverError)

    /// Deletes a cookie.
    func delete(_ cookie: Cookie) async throws(WebDriverError)

    /// What ``cookies()`` shows of a cookie that was set; nil where the browser cannot hold it.
    func kept(of cookie: Cookie) -> Cookie?

    /// Whether it has a window.
    func isOpen() async -> Bool

    /// Returns when the browser says that a server sets cookies or that a tab closes, and at the latest after `limit`; at once
    /// where it did since the last call. It returns early when the browser has gone or the task is cancelled, too.
    func waitForHint(within limit: Duration) async

    /// Closes it, and returns when its processes have ended.
    func end() async
}

extension BrowserSession {
    /// For a driver that tells of nothing.
    func waitForHint(within limit: Duration) async { try? await ContinuousClock().sleep(for: limit.asWait) }
}

/// Runs `body` for at most some seconds, and cancels it then: a browser that hangs is asked to close, and then ended by force.
func briefly(_ limit: Duration = .seconds(5), _ body: @escaping @Sendable () async -> Void) async {
    await withTaskGroup(of: Void.self) { group in
        group.addTask { await body() }
        group.addTask { try? await ContinuousClock().sleep(for: limit) }
        await group.next()
        group.cancelAll()
    }
}

extension Cookie {
    /// The cookie less fractions of the second at which it expires, and the times that browsers do not tell.
    var inWholeSeconds: Cookie {
        var cookie = self
        cookie.expires = expires.map { CookieTime(secondsSince1970: $0.secondsSince1970.rounded(.down)) }
        return cookie
    }
}
