// SPDX-License-Identifier: Apache-2.0

import CookieJar
import NIOConcurrencyHelpers

/// The sites whose partitions of cookies Firefox is asked for. It does not say which cookies are in which partition: it must be
/// asked for each partition by its site, and shows the cookies of all where it is asked for none.
///
/// The sites that are open and those that were last so are asked for at each look. Of the others what was seen is remembered, and
/// a site is asked for again where one of its cookies is not there any more as it was. So a cookie keeps its partition however
/// many sites are visited. There are no more of these sites than Firefox has cookies.
struct FirefoxPartitions {
    /// The sites that are asked for at each look, beside those that were open at the last one.
    static let recentLimit = 64

    /// The sites that are asked for, the one that was open last at the end.
    private(set) var recent: [Site] = []
    /// The cookies that were seen in each partition; none is empty.
    private var seen: [Site: [Cookie]] = [:]

    /// A site is open, or a cookie was put into its partition.
    mutating func remember(_ site: Site) {
        recent.removeAll { $0 == site }
        recent.append(site)
    }

    /// The sites that are not asked for at each look, with the cookies that were seen in their partitions.
    var resting: [(site: Site, cookies: [Cookie])] {
        seen.filter { !recent.contains($0.key) }.map { ($0.key, $0.value) }
    }

    /// A look showed what is in a partition.
    mutating func saw(_ cookies: [Cookie], in site: Site) { seen[site] = cookies.isEmpty ? nil : cookies }

    /// Lets sites rest that were asked for and are not open, so that no more than the limit are left.
    mutating func rest(asked: [Site], open: [Site]) {
        let excess = recent.count - open.count - Self.recentLimit
        guard excess > 0 else { return }
        let candidates = Set(recent.filter { asked.contains($0) && !open.contains($0) }.prefix(excess))
        recent.removeAll(where: candidates.contains)
    }
}

/// Cookies as Firefox shows them all, sorted into their partitions.
struct PartitionedCookies {
    /// How often each cookie is among those whose partition is not known.
    private var unsorted: [Cookie: Int]
    private var sorted: [Cookie] = []

    /// - Parameter all: What Firefox shows where it is asked for no partition.
    init(all: [Cookie]) { unsorted = Dictionary(all.map { ($0, 1) }, uniquingKeysWith: +) }

    /// All cookies.
    var all: [Cookie] { sorted + unsorted.flatMap { Array(repeating: $0.key, count: $0.value) } }

    /// Gives cookies their partition.
    ///
    /// - Returns: Whether all of them were there; if not, nothing is changed.
    mutating func sort(known cookies: [Cookie], into site: Site) -> Bool {
        guard cookies.allSatisfy({ unsorted[$0] != nil }) else { return false }
        sort(shown: cookies, into: site)
        return true
    }

    /// Gives cookies their partition that Firefox has just shown for it.
    mutating func sort(shown cookies: [Cookie], into site: Site) {
        for var cookie in cookies {
            if let count = unsorted[cookie] { unsorted[cookie] = count > 1 ? count - 1 : nil }
            cookie.partition = site
            sorted.append(cookie)
        }
    }
}

extension NIOLockedValueBox<FirefoxPartitions> {
    /// All cookies, with their partitions.
    ///
    /// - Parameters:
    ///   - open: The sites that are open.
    ///   - ask: Asks Firefox for the cookies of a partition; nil: for all.
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
        return cookies.all
    }
}
