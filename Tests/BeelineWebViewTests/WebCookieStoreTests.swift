// SPDX-License-Identifier: Apache-2.0

import BeelineWebView
import CookieJar
import Testing

@Suite("What a store need not say")
struct WebCookieStoreTests {
    /// A store that has nothing but what must be.
    struct Plain: WebCookieStore {
        func cookies() async throws -> [Cookie] { [] }
        func set(_ cookie: Cookie) async throws {}
        func delete(_ cookie: Cookie) async throws {}
    }

    @Test("a store keeps the whole of a cookie, and hears of nothing, unless it says otherwise")
    func defaults() async {
        let cookie = Cookie("a", "1", domain: "a.test")
        #expect(Plain().kept(of: cookie) == cookie)
        for await _ in Plain().changes { Issue.record("an element of a store that hears of nothing") }
    }
}
