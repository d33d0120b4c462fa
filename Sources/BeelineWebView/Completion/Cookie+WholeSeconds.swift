// SPDX-License-Identifier: Apache-2.0

package import CookieJar

extension Cookie {
    /// The cookie with an expiry in whole seconds: what is less is rounded on its way between processes, one way or
    /// another.
    package var inWholeSeconds: Cookie {
        var cookie = self
        cookie.expires = expires.map { CookieTime(secondsSince1970: $0.secondsSince1970.rounded(.down)) }
        return cookie
    }
}
