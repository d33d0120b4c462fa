// SPDX-License-Identifier: Apache-2.0

import CookieJar
import NIOConcurrencyHelpers

/// A delivery that is being carried out.
private struct Progress {
    var delivery: CookieDelivery
    /// When a cookie was accepted or shown for the first time.
    var lastSuccess = Duration.zero
    /// When the store last answered.
    var lastAnswer = Duration.zero
}

extension WebCookieStore {
    /// Makes and repeats the requests of a delivery until the store shows their results.
    ///
    /// - Parameter limit: The time limit for the next cookie to be accepted or shown, so that many cookies may take long in a
    ///   slow store.
    /// - Returns: The cookies that the store refused, altered or did not show.
    /// - Throws: ``WebViewError`` if the store does not answer.
    func carryOut(
        _ delivery: CookieDelivery,
        within limit: Duration,
        by clock: any Clock<Duration>
    ) async throws(WebViewError) -> [CookieDelivery.Failure] {
        let limit = limit.asWait
        let elapsed = clock.stopwatch()
        let progress = NIOLockedValueBox(Progress(delivery: delivery))
        let isDone = try await withPatience(by: clock) {
            limit - (elapsed() - progress.withLockedValue { $0.lastSuccess })
        } work: {
            var wait = Duration.zero
            while true {
                var steps = try await look(progress, elapsed)
                if !steps.isEmpty, wait > .zero {
                    try await clock.sleep(for: wait)
                    steps = try await look(progress, elapsed)
                }
                if steps.isEmpty { return }
                try await ask(for: steps, isFirst: wait == .zero, progress, elapsed)
                wait = min(max(wait * 2, .milliseconds(5)), .milliseconds(250))
            }
        }
        if !isDone {
            guard elapsed() - progress.withLockedValue({ $0.lastAnswer }) < limit / 2 else {
                throw WebViewError(.timedOut, "the cookie store did not answer for \(limit)")
            }
            progress.withLockedValue { $0.delivery.giveUp(after: limit) }
        }
        return progress.withLockedValue { $0.delivery.failures }
    }

    private func look(
        _ progress: NIOLockedValueBox<Progress>,
        _ elapsed: @Sendable () -> Duration
    ) async throws -> CookieDelivery.Steps {
        let shown = try await cookies()
        let now = elapsed()
        return progress.withLockedValue { progress in
            let count = progress.delivery.count
            progress.lastAnswer = now
            let steps = progress.delivery.look(shown)
            if progress.delivery.count < count { progress.lastSuccess = now }
            return steps
        }
    }

    private func ask(
        for steps: CookieDelivery.Steps,
        isFirst: Bool,
        _ progress: NIOLockedValueBox<Progress>,
        _ elapsed: @Sendable () -> Duration
    ) async throws {
        let requests = steps.set.map { ($0, false) } + steps.delete.map { ($0, true) }
        for (cookie, isDeletion) in requests {
            let error = try await refusal(of: cookie) {
                if isDeletion { try await delete(cookie) } else { try await self.set(cookie) }
            }
            let now = elapsed()
            progress.withLockedValue { progress in
                progress.lastAnswer = now
                if isFirst { progress.lastSuccess = now }
                if let error { progress.delivery.refuse(cookie, because: error) }
            }
        }
    }

    /// Calls `body` and returns its error with the name of the cookie; `nil` if it succeeds.
    ///
    /// - Throws: A timeout, cancellation or stop, because further requests would fail as well.
    private func refusal(of cookie: Cookie, _ body: () async throws -> Void) async throws -> WebViewError? {
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
