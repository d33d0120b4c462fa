// SPDX-License-Identifier: Apache-2.0

import CookieJar

/// The result of adding several cookies to a jar at once.
struct CookieInsertion {
    /// The outcome for each cookie, in order.
    let outcomes: [CookieOutcome]
    /// The number of new cookies that the jar had no room for.
    let dropped: Int
    /// The number of earlier cookies that were removed to make room.
    let displaced: Int

    /// Adds the cookies to the jar.
    init(_ cookies: [Cookie], into jar: CookieJar, isOfThisSession: Bool) {
        let addition = jar.add(cookies, isOfThisSession: isOfThisSession)
        outcomes = addition.outcomes
        dropped = outcomes.count { $0 == .rejected(.noRoom) }
        displaced = addition.displaced
    }

    /// Messages for the user, one line each.
    ///
    /// - Parameter path: the source of the cookies.
    func messages(of path: String, _ bounds: CookieJarConfiguration) -> [String] {
        let room =
            "a jar holds \(bounds.maxCookies) cookies (--max-cookies), \(bounds.maxCookiesPerDomain) for one domain"
        var messages: [String] = []
        if dropped > 0 { messages.append("\(path): \(dropped) cookies were dropped: \(room)") }
        if displaced > 0 { messages.append("\(path): \(displaced) cookies were removed from the jar: \(room)") }
        return messages
    }
}
