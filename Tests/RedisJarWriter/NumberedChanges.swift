// SPDX-License-Identifier: Apache-2.0

import CookieJar

/// Changes that follow from their numbers, so that the cookies at the end are known although processes were killed.
struct NumberedChanges {
    /// The number of changes between two waits for the server.
    static let step = 50
    /// The number of cookies of one process.
    static let slots = 64

    /// The process; it alone changes its cookies.
    let id: String

    private func cookie(_ number: Int) -> Cookie {
        Cookie("slot\(number % Self.slots)", "\(number)", domain: "w\(id).test")
    }

    /// Carries out a change: every seventh deletes a cookie, and every fifth also sets a cookie that all processes set.
    func apply(_ number: Int, to jar: CookieJar) {
        if number % 7 == 0 { jar.remove(cookie(number)) } else { jar.insert(cookie(number)) }
        if number % 5 == 0 { jar.insert(Cookie("common\(number % 16)", "\(id) \(number)", domain: "all.test")) }
    }
}
