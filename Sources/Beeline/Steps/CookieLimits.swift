// SPDX-License-Identifier: Apache-2.0

import CookieJar

/// Limits on the jar's cookies in one request, and on the cookies of one response. RFC 6265bis has none, so all are unlimited by
/// default.
package struct CookieLimits: Hashable, Sendable {
    /// The maximum size of the cookies in a request, in bytes. From the first cookie that does not fit, they are left out.
    package var sentBytes = Int.max
    /// The maximum number of cookies in a request. The newest ones are sent.
    package var sentCount = Int.max
    /// The maximum number of cookies that a response can store.
    package var keptCount = Int.max

    /// Creates limits that allow all cookies.
    package init() {}

    /// Whether a request may have all cookies.
    var allowsAll: Bool { sentBytes == .max && sentCount == .max }

    /// The Cookie field with the cookies that are within the limits, in the given order.
    func header(of cookies: [Cookie]) -> [UInt8] {
        var octets: [UInt8] = []
        for cookie in newest(of: cookies) {
            let pair = (octets.isEmpty ? [] : Cookie.separator) + cookie.pairOctets
            guard octets.count + pair.count <= sentBytes else { break }
            octets += pair
        }
        return octets
    }

    private func newest(of cookies: [Cookie]) -> [Cookie] {
        guard cookies.count > sentCount else { return cookies }
        // Of cookies with the same time and path, the last one was stored last.
        let newestFirst = cookies.indices.sorted { (cookies[$0].created, $0) > (cookies[$1].created, $1) }
        return newestFirst.prefix(sentCount).sorted().map { cookies[$0] }
    }
}
