// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Names

/// Cookies that were put into a jar, and what the jar had no room for: it drops cookies in silence when it is full.
struct CookieIntake {
    /// What became of each cookie when it was put in.
    let outcomes: [CookieOutcome]
    /// Which of the cookies were taken and then dropped.
    let isDropped: [Bool]
    /// How many of the cookies that were in the jar before made room for these.
    let displaced: Int

    var dropped: Int { isDropped.count(where: \.self) }

    /// Puts cookies into a jar.
    init(_ cookies: [Cookie], into jar: CookieJar, isOfThisSession: Bool) {
        let before = Set(jar.allCookies().map(Key.init))
        outcomes = jar.insert(cookies, isOfThisSession: isOfThisSession)
        let after = Set(jar.allCookies().map(Key.init))
        let keys = cookies.map(Key.init)
        var deleted: Set<Key> = []
        isDropped = zip(keys, outcomes).map { key, outcome in
            switch outcome {
            case .kept, .replaced: return !after.contains(key)
            case .deleted: deleted.insert(key)
            case .rejected: break
            }
            return false
        }
        displaced = before.subtracting(after).subtracting(deleted).subtracting(keys).count
    }

    /// What the user should know, one line each.
    ///
    /// - Parameter path: where the cookies come from.
    func messages(of path: String, _ bounds: CookieJarConfiguration) -> [String] {
        let room =
            "a jar has room for \(bounds.maximumCookies) (--max-cookies), \(bounds.maximumCookiesPerDomain) of one domain"
        var messages: [String] = []
        if dropped > 0 { messages.append("\(path): \(dropped) cookies were dropped: \(room)") }
        if displaced > 0 { messages.append("\(path): \(displaced) cookies of the jar made room: \(room)") }
        return messages
    }

    /// What tells a cookie from the others of a jar.
    private struct Key: Hashable {
        let name: [UInt8]
        let domain: String
        let isHostOnly: Bool
        let path: String
        let partition: Site?

        init(_ cookie: Cookie) {
            name = cookie.nameOctets
            domain = cookie.domain
            isHostOnly = cookie.isHostOnly
            path = cookie.path
            partition = cookie.partition
        }
    }
}
