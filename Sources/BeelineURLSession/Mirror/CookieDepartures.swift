// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationNetworking)
import CookieJar
import Foundation
import Names

/// The cookies that were recently removed from a storage of Foundation on Linux.
///
/// Foundation on Linux adds the storage's cookies to a request when it creates the task. If a cookie is deleted before the task
/// starts, it must not count as a cookie that the program set on the request.
struct CookieDepartures {
    /// The maximum number of remembered cookies; the newest are kept.
    private static let limit = 1024
    /// How long a cookie is remembered, in seconds. Longer than a task usually waits to start, and bounded because the program
    /// may later set the same cookie on a request itself.
    private static let lifetime: Double = 600

    private var present: [CookiePlace: Cookie] = [:]
    private var departed: [(cookie: Cookie, time: CookieTime)] = []

    /// Records the current cookies of the storage.
    mutating func note(_ cookies: [CookiePlace: Cookie], now: CookieTime) {
        let gone = present.filter { place, cookie in cookies[place]?.valueOctets != cookie.valueOctets }
        present = cookies
        let oldest = CookieTime(secondsSince1970: now.secondsSince1970 - Self.lifetime)
        departed = Array((departed.filter { $0.time > oldest } + gone.values.map { ($0, now) }).suffix(Self.limit))
    }

    /// The removed cookies for a host, as `name=value` pairs of a Cookie field.
    func pairs(for url: URL) -> Set<String> {
        guard !departed.isEmpty, let host = (try? HTTPURL(url))?.host.urlForm else { return [] }
        let cookies = departed.map(\.cookie).filter {
            host == $0.domain || (!$0.isHostOnly && host.hasSuffix("." + $0.domain))
        }
        return Set(cookies.map { String(decoding: $0.pairOctets, as: UTF8.self) })
    }
}
#endif
