// SPDX-License-Identifier: Apache-2.0

import CookieJar
import NIOConcurrencyHelpers

/// The sites whose cookie partitions are queried in Firefox. Firefox does not report the partition of a cookie: a query with a
/// site returns the cookies of its partition, and a query without one returns all cookies.
///
/// Open and recently open sites are queried at each check. For other sites the last result is kept, and the site is queried
/// again if one of its cookies is missing or changed. So a cookie keeps its partition however many sites are visited. There are
/// at most as many such sites as cookies in Firefox.
struct FirefoxPartitions {
    /// The maximum number of recent sites that are queried at each check in addition to the open ones.
    static let recentLimit = 64

    /// The sites that are queried at each check, the most recently open last.
    private(set) var recent: [Site] = []
    /// The last seen cookies of each partition; never empty.
    private var seen: [Site: [Cookie]] = [:]
    /// The cookies that were set in the partition of their own site, by their place without it. Firefox shows them like
    /// unpartitioned ones.
    private var own: [CookiePlace: Cookie] = [:]

    /// Records that a site is open or that a cookie was set in its partition.
    mutating func remember(_ site: Site) {
        recent.removeAll { $0 == site }
        recent.append(site)
    }

    /// Records that a cookie was set in the partition of its own site.
    mutating func setOwn(_ cookie: Cookie) {
        var shown = cookie
        shown.partition = nil
        own[CookiePlace(shown)] = cookie
    }

    /// Forgets a cookie that was deleted from the partition of its own site.
    mutating func forgetOwn(_ cookie: Cookie) {
        var shown = cookie
        shown.partition = nil
        let place = CookiePlace(shown)
        // The cookie may also be in the partition of another site.
        if own[place]?.partition == cookie.partition { own[place] = nil }
    }

    /// Returns the shown cookies, those that were set in the partition of their own site with this partition.
    func withOwn(_ cookies: [Cookie]) -> [Cookie] {
        guard !own.isEmpty else { return cookies }
        let places = Dictionary(grouping: cookies.indices) { CookiePlace(cookies[$0]) }
        var sorted = cookies
        for (place, known) in own {
            let shown = places[place] ?? []
            // Firefox may also have an unpartitioned cookie in this place.
            let same = shown.first { cookies[$0].valueOctets == known.valueOctets }
            // A cookie without Secure is another one, because partitioned cookies have it.
            if let index = same ?? shown.first, cookies[index].isSecure {
                sorted[index].partition = known.partition
            }
        }
        return sorted
    }

    /// The sites that are not queried at each check, with the last seen cookies of their partitions.
    var resting: [(site: Site, cookies: [Cookie])] {
        seen.filter { !recent.contains($0.key) }.map { ($0.key, $0.value) }
    }

    /// Records the cookies of a partition.
    mutating func saw(_ cookies: [Cookie], in site: Site) { seen[site] = cookies.isEmpty ? nil : cookies }

    /// Stops querying the oldest sites that are not open, down to the limit.
    mutating func rest(asked: [Site], open: [Site]) {
        let excess = recent.count - open.count - Self.recentLimit
        guard excess > 0 else { return }
        let candidates = Set(recent.filter { asked.contains($0) && !open.contains($0) }.prefix(excess))
        recent.removeAll(where: candidates.contains)
    }
}

/// The cookies of all partitions, sorted into their partitions.
struct PartitionedCookies {
    /// The number of occurrences of each cookie with an unknown partition.
    private var unsorted: [Cookie: Int]
    private var sorted: [Cookie] = []

    /// - Parameter all: The result of the query without a partition.
    init(all: [Cookie]) { unsorted = Dictionary(all.map { ($0, 1) }, uniquingKeysWith: +) }

    /// All cookies.
    var all: [Cookie] { sorted + unsorted.flatMap { Array(repeating: $0.key, count: $0.value) } }

    /// Moves known cookies to their partition.
    ///
    /// - Returns: Whether all of them were found; if not, nothing is changed.
    mutating func sort(known cookies: [Cookie], into site: Site) -> Bool {
        guard cookies.allSatisfy({ unsorted[$0] != nil }) else { return false }
        sort(shown: cookies, into: site)
        return true
    }

    /// Moves cookies to the partition whose query returned them.
    mutating func sort(shown cookies: [Cookie], into site: Site) {
        for var cookie in cookies {
            if let count = unsorted[cookie] { unsorted[cookie] = count > 1 ? count - 1 : nil }
            cookie.partition = site
            sorted.append(cookie)
        }
    }
}

extension NIOLockedValueBox<FirefoxPartitions> {
    /// Returns all cookies with their partitions.
    ///
    /// - Parameters:
    ///   - open: The open sites.
    ///   - ask: Queries Firefox for the cookies of a partition; nil for all cookies.
    func cookies(
        open: [Site],
        asking ask: (Site?) async throws(WebDriverError) -> [Cookie]
    ) async throws(WebDriverError) -> [Cookie] {
        let asked = withLockedValue { partitions in
            for site in open { partitions.remember(site) }
            return partitions.recent
        }
        var cookies = PartitionedCookies(all: try await ask(nil))
        for site in asked {
            let shown = try await ask(site)
            withLockedValue { $0.saw(shown, in: site) }
            cookies.sort(shown: shown, into: site)
        }
        for (site, known) in withLockedValue({ $0.resting }) where !cookies.sort(known: known, into: site) {
            let shown = try await ask(site)
            withLockedValue { $0.saw(shown, in: site) }
            cookies.sort(shown: shown, into: site)
        }
        withLockedValue { $0.rest(asked: asked, open: open) }
        return withLockedValue { $0.withOwn(cookies.all) }
    }
}
