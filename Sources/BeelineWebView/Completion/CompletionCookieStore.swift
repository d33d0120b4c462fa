// SPDX-License-Identifier: Apache-2.0

package import CookieJar

/// Makes a platform's store awaitable. Every call ends, even if its completion handler is never called.
package struct CompletionCookieStore<Platform: CompletionStore>: WebCookieStore {
    /// The platform's store.
    package let platform: Platform
    private let patience: Duration
    private let clock: any Clock<Duration>

    /// Creates a store from a platform's store.
    ///
    /// - Parameters:
    ///   - platform: The platform's store.
    ///   - patience: How long a handler may take. If it is not called in time, the call fails with `timedOut`.
    ///   - clock: The clock for that limit.
    package init(
        _ platform: Platform,
        patience: Duration = .seconds(10),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        (self.platform, self.patience, self.clock) = (platform, patience, clock)
    }

    package func cookies() async throws -> [Cookie] {
        try await objects().compactMap(platform.cookie)
    }

    package func set(_ cookie: Cookie) async throws {
        guard let object = platform.object(cookie) else {
            throw WebViewError(.refused, "this store cannot hold the cookie \(cookie.name) of \(cookie.domain)")
        }
        try await answer(to: "storing \(cookie.name)") { done in platform.set(object) { done(()) } }
    }

    package func delete(_ cookie: Cookie) async throws {
        // Deletes the store's own objects, because a new object may differ in properties that the platform compares.
        let place = CookiePlace(cookie)
        for object in try await objects() where platform.cookie(object).map(CookiePlace.init) == place {
            try await answer(to: "deleting \(cookie.name)") { done in platform.delete(object) { done(()) } }
        }
    }

    package func kept(of cookie: Cookie) -> Cookie? { platform.kept(of: cookie) }

    package var changes: AsyncStream<Void> {
        let (stream, wake) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        // Platforms do not retain observers. The closure retains the observer until the stream ends.
        let end = platform.observe { wake.yield() }
        wake.onTermination = { _ in end() }
        return stream
    }

    private func objects() async throws -> [Platform.Object] {
        try await answer(to: "reading the cookies") { platform.getAll($0) }
    }

    private func answer<Value: Sendable>(
        to what: String,
        _ ask: @escaping @Sendable (@escaping @Sendable (Value) -> Void) -> Void
    ) async throws -> Value {
        let (limit, late) = (
            patience, "\(what): the cookie store did not answer for \(patience); a web view must exist"
        )
        return try await withTimeLimit(limit, by: clock, else: { WebViewError(.timedOut, late) }) {
            let reply = CompletionResult<Value>()
            ask { reply.give($0) }
            return try await reply.value()
        }
    }
}
