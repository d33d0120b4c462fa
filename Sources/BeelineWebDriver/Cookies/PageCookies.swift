// SPDX-License-Identifier: Apache-2.0

import CookieJar
import NIOConcurrencyHelpers
import Names

/// The known cookies of a browser that shows only those of the current page. Other cookies keep their last known state.
struct PageCookies {
    /// Without limits: an evicted cookie would look like one deleted in the browser, and a later expiry like a change.
    private let memory = CookieJar(configuration: .unbounded)

    /// All known cookies.
    var all: [Cookie] { memory.allCookies().map(Self.withoutTimes) }

    /// Records the cookies of a page.
    ///
    /// - Parameters:
    ///   - shown: all cookies that a request for the page would send.
    ///   - url: the page.
    func saw(_ shown: ShownCookies, on url: HTTPURL) {
        let names = Set(shown.cookies.map(Key.init))
        for old in memory.cookies(for: url) where !names.contains(Key(old)) && !shown.hides(old) { memory.remove(old) }
        memory.insert(shown.cookies)
    }

    /// Records a set cookie.
    func added(_ cookie: Cookie) { memory.insert(cookie) }

    /// Records a deleted cookie.
    func deleted(_ cookie: Cookie) { memory.remove(cookie) }

    private struct Key: Hashable {
        let name: [UInt8]
        let domain: String
        let path: String

        init(_ cookie: Cookie) {
            name = cookie.nameOctets
            domain = cookie.domain
            path = cookie.path
        }
    }

    /// Removes the times of the jar, which are not those of the browser.
    private static func withoutTimes(_ cookie: Cookie) -> Cookie {
        var cookie = cookie
        cookie.created = .distantPast
        cookie.lastAccessed = .distantPast
        return cookie
    }
}
