// SPDX-License-Identifier: Apache-2.0

import CookieJar
import NIOConcurrencyHelpers

extension WebCookieStore {
    /// Makes and repeats the requests of a delivery until the store shows their results.
    ///
    /// - Throws: ``WebViewError`` with the name of the first cookie that is still wrong when the time is up.
    func carryOut(
        _ delivery: CookieDelivery,
        within limit: Duration,
        by clock: any Clock<Duration>
    ) async throws(WebViewError) {
        let delivery = NIOLockedValueBox(delivery)
        try await withTimeLimit(limit, by: clock, else: { delivery.withLockedValue { $0.failure(after: limit) } }) {
            var wait = Duration.zero
            while true {
                var steps = try await look(delivery)
                if !steps.isEmpty, wait > .zero {
                    try await clock.sleep(for: wait)
                    steps = try await look(delivery)
                }
                if steps.isEmpty { return }
                wait = min(max(wait * 2, .milliseconds(5)), .milliseconds(250))
                try await ask(for: steps)
            }
        }
    }

    private func look(_ delivery: NIOLockedValueBox<CookieDelivery>) async throws -> CookieDelivery.Steps {
        let shown = try await cookies()
        return delivery.withLockedValue { $0.look(shown) }
    }

    /// - Throws: The error of the first cookie that the store rejects, after all other requests were made.
    private func ask(for steps: CookieDelivery.Steps) async throws {
        var failure: WebViewError?
        for cookie in steps.set {
            let error = try await naming(cookie) { try await set(cookie) }
            failure = failure ?? error
        }
        for cookie in steps.delete {
            let error = try await naming(cookie) { try await delete(cookie) }
            failure = failure ?? error
        }
        if let failure { throw failure }
    }

    /// Calls `body` and returns its error with the name of the cookie; `nil` if it succeeds.
    ///
    /// - Throws: A timeout, cancellation or stop, because further requests would fail as well.
    private func naming(_ cookie: Cookie, _ body: () async throws -> Void) async throws -> WebViewError? {
        do {
            try await body()
            return nil
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            let what = "the store rejects the cookie \(cookie.name) of \(cookie.domain): \(error)"
            let code = (error as? WebViewError)?.code ?? .refused
            let named = WebViewError(code, what, underlyingError: error)
            if code == .timedOut || code == .cancelled || code == .stopped { throw named }
            return named
        }
    }
}
