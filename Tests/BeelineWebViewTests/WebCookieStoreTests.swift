// SPDX-License-Identifier: Apache-2.0

import BeelineWebView
import CookieJar
import Testing

@Suite("Defaults of web cookie stores")
struct WebCookieStoreTests {
    /// A store with only the required methods.
    struct Plain: WebCookieStore {
        func cookies() async throws -> [Cookie] { [] }
        func set(_ cookie: Cookie) async throws {}
        func delete(_ cookie: Cookie) async throws {}
    }

    @Test("by default, a store keeps complete cookies and reports no changes")
    func defaults() async {
        let cookie = Cookie("a", "1", domain: "a.test")
        #expect(Plain().kept(of: cookie) == cookie)
        for await _ in Plain().changes { Issue.record("an element of a store that does not observe") }
    }
}
