// SPDX-License-Identifier: Apache-2.0

import CookieJar
import NIOConcurrencyHelpers
import Names

/// The cookies of a browser that shows only those of the page that it is on: what it showed of the others stands as it was.
struct PageCookies {
    /// Without bounds: a cookie that gave way here would seem to be deleted in the browser.
    private let memory = CookieJar(configuration: .unbounded)

    /// All that are known.
    var all: [Cookie] { memory.allCookies().map(Self.withoutTimes) }

    /// A look at the cookies of a page.
    ///
    /// - Parameters:
    ///   - cookies: all that a request for the page would carry.
    ///   - url: the page.
    func saw(_ cookies: [Cookie], on url: HTTPURL) {
        let names = Set(cookies.map(Key.init))
        for old in memory.cookies(for: url) where !names.contains(Key(old)) { memory.remove(old) }
        memory.insert(cookies)
    }

    /// A cookie was set.
    func added(_ cookie: Cookie) { memory.insert(cookie) }

    /// A cookie was deleted.
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

    /// The memory's own times say nothing of the browser's.
    private static func withoutTimes(_ cookie: Cookie) -> Cookie {
        var cookie = cookie
        cookie.created = .distantPast
        cookie.lastAccessed = .distantPast
        return cookie
    }
}
