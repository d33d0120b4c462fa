// SPDX-License-Identifier: Apache-2.0

package import CookieJar

/// Makes of a platform's store one that can be awaited: every call ends, whatever becomes of its handler.
package struct CompletionCookieStore<Platform: CompletionStore>: WebCookieStore {
    /// The platform's store.
    package let platform: Platform
    private let patience: Duration
    private let clock: any Clock<Duration>

    /// A platform's store, to be awaited.
    ///
    /// - Parameters:
    ///   - platform: The platform's store.
    ///   - patience: How long a handler may take. One that is not called by then fails the call with `timedOut`.
    ///   - clock: By which that is measured.
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
        // The very objects that the store has: one that is made anew may differ in what the platform looks at.
        let place = CookiePlace(cookie)
        for object in try await objects() where platform.cookie(object).map(CookiePlace.init) == place {
            try await answer(to: "deleting \(cookie.name)") { done in platform.delete(object) { done(()) } }
        }
    }

    package func kept(of cookie: Cookie) -> Cookie? { platform.kept(of: cookie) }

    package var changes: AsyncStream<Void> {
        let (stream, bell) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        // Platforms do not retain observers: the stream's end keeps this one, until nobody reads any more.
        let end = platform.observe { bell.yield() }
        bell.onTermination = { _ in end() }
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
            let reply = Reply<Value>()
            ask { reply.give($0) }
            return try await reply.value()
        }
    }
}
