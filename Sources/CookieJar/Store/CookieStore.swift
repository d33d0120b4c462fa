// SPDX-License-Identifier: Apache-2.0

import Names

/// The cookie store of RFC 6265bis §5.7 as a value. Each operation is told the time. ``CookieJar`` is the lock around it.
///
/// `CookieStore+Storage.swift` has the storage model, `CookieStore+Retrieval.swift` the retrieval model,
/// `CookieStore+Eviction.swift` the order of eviction.
struct CookieStore {
    let configuration: CookieJarConfiguration
    typealias Domains = [DomainKey: DomainCookies]

    /// The cookies of each domain; none is empty.
    var domains: Domains = [:]
    /// The domains with cookies below each registrable domain, itself included: §5.7 step 16 asks for them.
    private(set) var domainsBySite: [DomainKey: Set<String>] = [:]
    /// How many cookies there are, expired ones included.
    private(set) var count = 0
    /// How many domains are partitioned: while there is none, no look-up asks for partitions.
    private(set) var partitionedCount = 0
    /// The sequence number of the next cookie.
    private(set) var nextSequence: UInt64 = 1
    /// The sequence number of the cookie that was stored or replaced last.
    private(set) var lastStored: UInt64 = 0
    /// The sequence numbers of the cookies that gave way to others since somebody began to count; nil: nobody counts.
    var evicted: Set<UInt64>?

    /// Whether its cookies are those of an earlier process, with all that was deleted there.
    var isRestored = false

    /// Those who follow the changes.
    private(set) var followers: [any CookieFollower] = []
    /// Who makes the changes of the current operation.
    var source: ChangeSource?
    /// When the current operation takes place, if there is a follower.
    var time = CookieTime.distantPast
    /// What the current operation has changed, if there is a follower.
    private var changes: [CookieChange] = []

    /// A cookie in the store. A removal makes places invalid.
    struct Place {
        let domain: Domains.Index
        let place: DomainCookies.Place
    }

    init(configuration: CookieJarConfiguration) {
        self.configuration = configuration
    }

    // MARK: Reading

    subscript(place: Place) -> StoredCookie { domains.values[place.domain][place.place] }

    /// The place of the cookie that has this one's name, domain, host-only flag, path and partition.
    func place(of cookie: ReceivedCookie) -> Place? {
        domains.index(forKey: cookie.key).flatMap { place(of: cookie, in: $0) }
    }

    func place(of cookie: ReceivedCookie, in domain: Domains.Index) -> Place? {
        domains.values[domain].place(of: cookie).map { Place(domain: domain, place: $0) }
    }

    /// The cookies for which the closure is true, in the order in which they were first stored.
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

    /// The cookie in the place of this one, if it has not expired.
    func cookie(like cookie: Cookie, at now: CookieTime) -> Cookie? {
        guard let place = place(of: ReceivedCookie(cookie)), !self[place].isExpired(at: now) else { return nil }
        return self.cookie(at: place)
    }

    /// Whether the current session stored the cookie in the place of this one.
    func isOfThisSession(_ cookie: Cookie) -> Bool {
        place(of: ReceivedCookie(cookie)).map { self[$0].isOfThisSession } ?? false
    }

    private func cookie(at place: Place) -> Cookie {
        Cookie(at: place.place, of: domains.values[place.domain], in: domains.keys[place.domain])
    }

    // MARK: Changing

    /// Adds a cookie whose place is free, and keeps the bounds.
    ///
    /// - Parameter domain: The cookie's domain, if it has cookies already.
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
        let crowded = cookiesOfDomain > configuration.maximumCookiesPerDomain ? cookie.key : nil
        return evictExcess(of: crowded, stored: stored.sequence, now: now) ? .kept : .rejected(.noRoom)
    }

    /// Puts a cookie into the place of another one, which gives it its time of creation (§5.7 step 23).
    mutating func replace(_ place: Place, with cookie: ReceivedCookie, now: CookieTime) {
        let old = self[place]
        let stored = StoredCookie(cookie, created: old.created, sequence: old.sequence, now: now)
        domains.values[place.domain].replace(place.place, with: stored, cookie)
        lastStored = old.sequence
        note(.replaced, place)
    }

    /// Removes the cookie at a place.
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

    /// Removes the cookie in the place of this one, and returns whether there was one.
    mutating func remove(_ cookie: Cookie) -> Bool {
        guard let place = place(of: ReceivedCookie(cookie)) else { return false }
        remove(place, cause: .explicit)
        return true
    }

    /// Removes the cookies for which the closure is true, and returns how many they were.
    mutating func remove(
        cause: CookieChange.Cause,
        where isWanted: (StoredCookie, _ cookie: () -> Cookie) -> Bool
    ) -> Int {
        let before = count
        for key in Array(domains.keys) {
            guard let cookies = domains[key] else { continue }
            let places = cookies.places { cookie, place in isWanted(cookie) { Cookie(at: place, of: cookies, in: key) }
            }
            // From the last one on, so that the places before it hold.
            for place in places.reversed() {
                guard let domain = domains.index(forKey: key) else { continue }
                remove(Place(domain: domain, place: place), cause: cause)
            }
        }
        return before - count
    }

    /// Removes what has expired. Look-ups pass over expired cookies; this frees their memory.
    mutating func removeExpired(at now: CookieTime) {
        _ = remove(cause: .expired) { cookie, _ in cookie.isExpired(at: now) }
    }

    // MARK: Telling of changes

    /// Adds a follower, and forgets those that want to hear no more: where nothing changes, nothing else does.
    mutating func add(_ follower: any CookieFollower) {
        followers.removeAll { $0.isFinished }
        followers.append(follower)
    }

    /// Notes what happened to the cookie at a place, if there is a follower.
    private mutating func note(_ kind: CookieChange.Kind, _ place: Place) {
        guard !followers.isEmpty else { return }
        changes.append(CookieChange(kind: kind, cookie: cookie(at: place), time: time, source: source))
    }

    /// Tells the followers what was noted. The jar's lock is held, so all hear of changes in their order; none is waited for.
    mutating func publishChanges() {
        guard !changes.isEmpty else { return }
        followers.removeAll { $0.isFinished }
        for follower in followers { follower.note(changes) }
        changes.removeAll()
    }
}

extension DomainKey {
    /// The registrable domain in the same partition; the domain itself where there is none.
    var site: DomainKey {
        DomainKey(domain: PublicSuffixList.registrableDomain(of: domain) ?? domain, partition: partition)
    }
}
