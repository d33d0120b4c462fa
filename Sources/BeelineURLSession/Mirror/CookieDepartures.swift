// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationNetworking)
import CookieJar
import Foundation
import Names

/// The cookies that have left a storage of Foundation on Linux.
///
/// Foundation there writes the cookies of the storage into a request when its task is made. Where one of them is deleted before
/// the task begins, it must not be taken for one that the program wrote into the request itself.
struct CookieDepartures {
    /// How many are remembered, the newest.
    private static let limit = 1024
    /// For how many seconds: a task that was made before a cookie left begins within them, and the program may write the same
    /// cookie into a request of its own later.
    private static let lifetime: Double = 600

    private var present: [CookiePlace: Cookie] = [:]
    private var departed: [(cookie: Cookie, time: CookieTime)] = []

    /// Takes note of what the storage has.
    mutating func note(_ cookies: [CookiePlace: Cookie], now: CookieTime) {
        let gone = present.filter { place, cookie in cookies[place]?.valueOctets != cookie.valueOctets }
        present = cookies
        let oldest = CookieTime(secondsSince1970: now.secondsSince1970 - Self.lifetime)
        departed = Array((departed.filter { $0.time > oldest } + gone.values.map { ($0, now) }).suffix(Self.limit))
    }

    /// The cookies for a host that are gone, as a Cookie field has them.
    func pairs(for url: URL) -> Set<String> {
        guard !departed.isEmpty, let host = (try? HTTPURL(url))?.host.urlForm else { return [] }
        let cookies = departed.map(\.cookie).filter {
            host == $0.domain || (!$0.isHostOnly && host.hasSuffix("." + $0.domain))
        }
        return Set(cookies.map { String(decoding: $0.pairOctets, as: UTF8.self) })
    }
}
#endif
