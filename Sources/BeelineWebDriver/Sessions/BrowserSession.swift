// SPDX-License-Identifier: Apache-2.0

import CookieJar
import NIOCore
import NIOPosix

/// A running browser with its own profile. Calls may overlap.
protocol BrowserSession: Sendable {
    /// Loads a page and returns when it is loaded.
    func navigate(to url: String) async throws(WebDriverError)

    /// Evaluates a JavaScript expression in the page. Awaits the result if it is a promise.
    ///
    /// - Returns: the result as JSON text.
    func evaluate(_ expression: String) async throws(WebDriverError) -> String

    /// Returns every cookie. Cookies that the browser does not show now are as last seen.
    func cookies() async throws(WebDriverError) -> ShownCookies

    /// Sets a cookie.
    func set(_ cookie: Cookie) async throws(WebDriverError)

    /// Deletes a cookie.
    func delete(_ cookie: Cookie) async throws(WebDriverError)

    /// Returns a set cookie as ``cookies()`` will show it; nil if the browser cannot store it.
    func kept(of cookie: Cookie) -> Cookie?

    /// Whether the browser has a window.
    func isOpen() async -> Bool

    /// Returns when the browser reports that it may end (``BrowserHint/closing``), when it reports that cookies may have changed
    /// but not before `pause`, or after `limit`. Reports since the last call count too. Returns immediately if the browser has
    /// closed or the task is cancelled.
    func waitForHint(after pause: Duration, within limit: Duration) async

    /// Closes the browser and returns when its processes have ended.
    func end() async
}

extension BrowserSession {
    /// For drivers that report no events.
    func waitForHint(after pause: Duration, within limit: Duration) async {
        try? await ContinuousClock().sleep(for: limit.asWait)
    }
}

/// Runs `body` and cancels it after `limit`, so that a hanging browser cannot delay its forced end.
func briefly(_ limit: Duration = .seconds(3), _ body: @escaping @Sendable () async -> Void) async {
    await withTaskGroup(of: Void.self) { group in
        group.addTask { await body() }
        group.addTask { try? await ContinuousClock().sleep(for: limit) }
        await group.next()
        group.cancelAll()
    }
}

/// Runs `body` to its end even if the task is cancelled, but cancels it `limit` after that. For steps that would leave the
/// browser in a wrong state if they stopped halfway.
func undisturbed<Value: Sendable>(
    for limit: Duration = .seconds(3),
    _ body: @escaping @Sendable () async throws(WebDriverError) -> Value
) async throws(WebDriverError) -> Value {
    let work = Task { () -> Result<Value, WebDriverError> in
        do throws(WebDriverError) {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }
    return try await withTaskCancellationHandler {
        await work.value
    } onCancel: {
        MultiThreadedEventLoopGroup.singleton.next().scheduleTask(in: TimeAmount(limit)) { work.cancel() }
    }.get()
}
