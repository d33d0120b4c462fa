// SPDX-License-Identifier: Apache-2.0

package import CookieJar

extension Cookie {
    /// The cookie with its expiry rounded down to whole seconds, because fractions are rounded either way between processes.
    package var inWholeSeconds: Cookie {
        var cookie = self
        cookie.expires = expires.map { CookieTime(secondsSince1970: $0.secondsSince1970.rounded(.down)) }
        return cookie
    }
}
