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

    private var present: [CookiePlace: Cookie] = [:]
    private var departed: [Cookie] = []

    /// Takes note of what the storage has.
    mutating func note(_ cookies: [CookiePlace: Cookie]) {
        let gone = present.filter { place, cookie in cookies[place]?.valueOctets != cookie.valueOctets }
        present = cookies
        departed = Array((departed + gone.values).suffix(Self.limit))
    }

    /// The cookies for a host that are gone, as a Cookie field has them.
    func pairs(for url: URL) -> Set<String> {
        guard !departed.isEmpty, let host = (try? HTTPURL(url))?.host.urlForm else { return [] }
        let cookies = departed.filter { host == $0.domain || (!$0.isHostOnly && host.hasSuffix("." + $0.domain)) }
        return Set(cookies.map { String(decoding: $0.pairOctets, as: UTF8.self) })
    }
}
#endif
