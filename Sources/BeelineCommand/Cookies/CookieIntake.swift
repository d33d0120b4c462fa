// SPDX-License-Identifier: Apache-2.0

import CookieJar

/// Cookies that were put into a jar together, and how many the jar had no room for.
struct CookieIntake {
    /// What became of each cookie.
    let outcomes: [CookieOutcome]
    /// How many of the cookies found no room.
    let dropped: Int
    /// How many of the cookies that were in the jar before made room for these.
    let displaced: Int

    /// Puts cookies into a jar.
    init(_ cookies: [Cookie], into jar: CookieJar, isOfThisSession: Bool) {
        let addition = jar.add(cookies, isOfThisSession: isOfThisSession)
        outcomes = addition.outcomes
        dropped = outcomes.count { $0 == .rejected(.noRoom) }
        displaced = addition.displaced
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
}
