// SPDX-License-Identifier: Apache-2.0

import Beeline
import Testing

/// The limits on the jar's cookies in one request.
struct CookieLimitTests {
    @Test(
        "the newest cookies are sent, in the order of the field; of equally old ones, those that were stored last",
        arguments: [(0, nil), (1, "new=1"), (2, "b=1; new=1"), (3, "a=1; b=1; new=1"), (4, "a=1; b=1; new=1")]
    )
    func newest(_ count: Int, _ expected: String?) throws {
        let jar = CookieJar()
        for (name, path, created) in [("a", "/x", 1e9), ("b", "/x", 1e9), ("new", "/", 1.1e9)] {
            var cookie = Cookie(name, "1", domain: "a.test", path: path)
            cookie.created = CookieTime(secondsSince1970: created)
            jar.insert(cookie)
        }
        var limits = CookieLimits()
        limits.sentCount = count
        let sent = CookieStep.outgoing(jar, url: try HTTPURL("https://a.test/x"), explicit: nil, limits: limits)
        #expect(sent.field?.value == expected)
    }
}
