// SPDX-License-Identifier: Apache-2.0

import Names

/// The cookie store of RFC 6265bis §5.7 as a value. The caller passes the time to each operation. ``CookieJar`` locks it.
///
/// `CookieStore+Storage.swift` has the storage model, `CookieStore+Retrieval.swift` the retrieval model,
/// `CookieStore+Eviction.swift` the order of eviction.
struct CookieStore {
    let configuration: CookieJarConfiguration
    typealias Domains = [DomainKey: DomainCookies]

    /// The cookies of each domain. Domains without cookies are absent.
    var domains: Domains = [:]
    /// The domains with cookies at or below each registrable domain, for §5.7 step 16.
    private(set) var domainsBySite: [DomainKey: Set<String>] = [:]
    /// The number of cookies, including expired ones.
    private(set) var count = 0
    /// The number of partitioned domains. If zero, lookups skip the partitions.
    private(set) var partitionedCount = 0
    private(set) var nextSequence: UInt64 = 1
    /// The sequence number of the cookie that was last stored or replaced.
    private(set) var lastStored: UInt64 = 0
    /// The sequence numbers of the evicted cookies. Nil while evictions are not recorded.
    var evicted: Set<UInt64>?

    /// Whether the store continues the complete state of an earlier process, including its deletions.
    var isRestored = false
    /// Whether a file keeps the cookies for later processes.
    var isKept = false

    private(set) var followers: [any CookieFollower] = []
    /// The source of the current operation's changes.
    var source: ChangeSource?
    /// The time of the current operation, if there is a follower.
    var time = CookieTime.distantPast
    /// The changes of the current operation, if there is a follower.
    private var changes: [CookieChange] = []

    /// The place of a cookie in the store. A removal invalidates places.
    struct Place {
        let domain: Domains.Index
        let place: DomainCookies.Place
    }

    init(configuration: CookieJarConfiguration) {
        self.configuration = configuration
    }

    // MARK: Reading

    subscript(place: Place) -> StoredCookie { domains.values[place.domain][place.place] }

    /// The place of the cookie with the same name, domain, host-only flag, path and partition.
    func place(of cookie: ReceivedCookie) -> Place? {
        domains.index(forKey: cookie.key).flatMap { place(of: cookie, in: $0) }
    }

    func place(of cookie: ReceivedCookie, in domain: Domains.Index) -> Place? {
        domains.values[domain].place(of: cookie).map { Place(domain: domain, place: $0) }
    }

    /// The cookies for which the closure returns true, in the order in which they were first stored.
    func cookies(where isWanted: (StoredCookie) -> Bool) -> [Cookie] {
        let found = domains.flatMap { key, cookies in
            cookies.places { cookie, _ in isWanted(cookie) }.map { place in
                (cookie: Cookie(at: place, of: cookies, in: key), sequence: cookies[place].sequence)
            }
        }
        return found.sorted { $0.sequence < $1.sequence }.map(\.cookie)
    }

    /// The cookies that have not expired, in the order in which they were first stored.
    func cookies(at now: CookieTime) -> [Cookie] { cookies { !$0.isExpired(at: now) } }

    /// The unexpired cookie in the same place as this one.
    func cookie(like cookie: Cookie, at now: CookieTime) -> Cookie? {
        guard let place = place(of: ReceivedCookie(cookie)), !self[place].isExpired(at: now) else { return nil }
        return self.cookie(at: place)
    }

    /// Whether the cookie in the same place was stored by the current session.
    func isOfThisSession(_ cookie: Cookie) -> Bool {
        place(of: ReceivedCookie(cookie)).map { self[$0].isOfThisSession } ?? false
    }

    private func cookie(at place: Place) -> Cookie {
        Cookie(at: place.place, of: domains.values[place.domain], in: domains.keys[place.domain])
    }

    // MARK: Changing

    /// Adds a cookie to a free place and enforces the limits.
    ///
    /// - Parameter domain: The cookie's domain, if the store has cookies of it.
    mutating func add(_ cookie: ReceivedCookie, to domain: Domains.Index?, now: CookieTime) -> CookieOutcome {
        let stored = StoredCookie(cookie, created: cookie.created ?? now, sequence: nextSequence, now: now)
        lastStored = nextSequence
        nextSequence += 1
        count += 1
        if let domain {
            domains.values[domain].insert(stored, cookie)
        } else {
            var cookies = DomainCookies()
            cookies.insert(stored, cookie)
            domains[cookie.key] = cookies
            domainsBySite[cookie.key.site, default: []].insert(cookie.key.domain)
            if cookie.key.partition != nil { partitionedCount += 1 }
        }
        if !followers.isEmpty, let place = place(of: cookie) { note(.added, place) }
        let cookiesOfDomain = domain.map { domains.values[$0].cookies.count } ?? 1
        let crowded = cookiesOfDomain > configuration.maxCookiesPerDomain ? cookie.key : nil
        return evictExcess(of: crowded, stored: stored.sequence, now: now) ? .kept : .rejected(.noRoom)
    }

    /// Replaces a cookie. The new cookie takes over the creation time of the old one (§5.7 step 23).
    mutating func replace(_ place: Place, with cookie: ReceivedCookie, now: CookieTime) {
        let old = self[place]
        let stored = StoredCookie(cookie, created: old.created, sequence: old.sequence, now: now)
        domains.values[place.domain].replace(place.place, with: stored, cookie)
        lastStored = old.sequence
        note(.replaced, place)
    }

    mutating func remove(_ place: Place, cause: CookieChange.Cause) {
        note(.removed(cause), place)
        domains.values[place.domain].remove(at: place.place)
        count -= 1
        guard domains.values[place.domain].cookies.isEmpty else { return }
        let key = domains.remove(at: place.domain).key
        domainsBySite[key.site]?.remove(key.domain)
        if domainsBySite[key.site]?.isEmpty == true { domainsBySite[key.site] = nil }
        if key.partition != nil { partitionedCount -= 1 }
    }

    /// Removes the cookie in the same place. Returns whether there was one.
    mutating func remove(_ cookie: Cookie) -> Bool {
        guard let place = place(of: ReceivedCookie(cookie)) else { return false }
        remove(place, cause: .explicit)
        return true
    }

    /// Removes the cookies for which the closure returns true. Returns their number.
    mutating func remove(
        cause: CookieChange.Cause,
        where isWanted: (StoredCookie, _ cookie: () -> Cookie) -> Bool
    ) -> Int {
        let before = count
        for key in Array(domains.keys) {
            guard let cookies = domains[key] else { continue }
            let places = cookies.places { cookie, place in isWanted(cookie) { Cookie(at: place, of: cookies, in: key) }
            }
            // Starts with the last place, because a removal invalidates the places after it.
            for place in places.reversed() {
                guard let domain = domains.index(forKey: key) else { continue }
                remove(Place(domain: domain, place: place), cause: cause)
            }
        }
        return before - count
    }

    /// Removes expired cookies to free their memory. Lookups ignore expired cookies anyway.
    mutating func removeExpired(at now: CookieTime) {
        _ = remove(cause: .expired) { cookie, _ in cookie.isExpired(at: now) }
    }

    // MARK: Notifying followers

    /// Adds a follower and removes finished followers, because `publishChanges` removes them only after a change.
    mutating func add(_ follower: any CookieFollower) {
        followers.removeAll { $0.isFinished }
        followers.append(follower)
    }

    /// Records a change of the cookie at a place, if there is a follower.
    private mutating func note(_ kind: CookieChange.Kind, _ place: Place) {
        guard !followers.isEmpty else { return }
        changes.append(CookieChange(kind: kind, cookie: cookie(at: place), time: time, source: source))
    }

    /// Passes the recorded changes to the followers. Runs under the jar's lock, so that followers receive changes in order.
    /// Followers must not block.
    mutating func publishChanges() {
        guard !changes.isEmpty else { return }
        followers.removeAll { $0.isFinished }
        for follower in followers { follower.note(changes) }
        changes.removeAll()
    }
}

extension DomainKey {
    /// The registrable domain in the same partition. The domain itself if it has none.
    var site: DomainKey {
        // The last numbers of an IPv4 address are no registrable domain.
        guard domain.utf8.last?.isDigit != true || IPAddress(domain) == nil else { return self }
        return DomainKey(domain: PublicSuffixList.registrableDomain(of: domain) ?? domain, partition: partition)
    }
}
