// SPDX-License-Identifier: Apache-2.0

/// The cookies of one domain, in the order in which they are sent.
///
/// Two arrays hold the texts of all cookies, one after another. Adjacent cookies are copied together, and a lookup touches no
/// other memory. (With one array for each cookie, the cookie benchmark with 180 cookies takes 2.5 times as long.)
struct DomainCookies {
    private(set) var cookies: [StoredCookie] = []
    /// `name=value; ` of each cookie.
    private(set) var pairs: [UInt8] = []
    private var paths: [UInt8] = []

    /// The index of a cookie and the offsets of its texts.
    struct Place {
        fileprivate(set) var index = 0
        fileprivate(set) var pair = 0
        fileprivate(set) var path = 0
    }

    private func place(after place: Place) -> Place {
        let cookie = cookies[place.index]
        return Place(
            index: place.index + 1,
            pair: place.pair + Int(cookie.pairCount),
            path: place.path + Int(cookie.pathCount)
        )
    }

    /// The places for which the closure returns true, in order.
    func places(where isWanted: (StoredCookie, Place) -> Bool) -> [Place] {
        var places: [Place] = []
        var place = Place()
        while place.index < cookies.count {
            if isWanted(cookies[place.index], place) { places.append(place) }
            place = self.place(after: place)
        }
        return places
    }

    /// The first place for which the closure returns true.
    func firstPlace(where isWanted: (StoredCookie, Place) -> Bool) -> Place? {
        var place = Place()
        while place.index < cookies.count {
            if isWanted(cookies[place.index], place) { return place }
            place = self.place(after: place)
        }
        return nil
    }

    /// The place of the cookie that a new cookie with this name, path and host-only flag replaces (RFC 6265bis §5.7 step 23).
    func place(of other: ReceivedCookie) -> Place? {
        firstPlace { cookie, place in
            cookie.isHostOnly == other.isHostOnly && cookie.nameCount == other.nameCount
                && cookie.pathCount == other.path.count && name(at: place) == other.name
                // The only path of one octet is `/`.
                && (cookie.pathCount == 1 || path(at: place).elementsEqual(other.path))
        }
    }

    subscript(place: Place) -> StoredCookie { cookies[place.index] }

    /// The octets of the name. Empty for a nameless cookie.
    func name(at place: Place) -> ArraySlice<UInt8> { pairs[place.pair..<(place.pair + Int(self[place].nameCount))] }

    func value(at place: Place) -> ArraySlice<UInt8> {
        let cookie = self[place]
        let start = cookie.nameCount == 0 ? 0 : Int(cookie.nameCount) + 1
        let end = Int(cookie.pairCount) - Cookie.separator.count
        return pairs[(place.pair + start)..<(place.pair + end)]
    }

    func path(at place: Place) -> ArraySlice<UInt8> { paths[place.path..<(place.path + Int(self[place].pathCount))] }

    // MARK: Looking up

    /// Adds the cookies that match a request to `matches` and updates their access times.
    ///
    /// - Parameter number: The number of the domain, for the matches.
    mutating func collect(_ query: CookieQuery, key: DomainKey, number: Int, into matches: inout [CookieMatch]) {
        let isHost = key.domain == query.request.host
        let now = query.now.wholeSeconds
        var place = Place()
        while place.index < cookies.count {
            let cookie = self[place]
            let next = self.place(after: place)
            defer { place = next }
            guard query.matches(cookie, isHost: isHost) else { continue }
            // Most paths are `/`, which matches every path.
            guard
                cookie.pathCount == 1 || query.widens
                    || PathMatch.matches(query.path, cookiePath: paths[place.path..<next.path])
            else { continue }
            if let filter = query.filter, !filter.matches(Cookie(at: place, of: self, in: key), query.url) { continue }
            // Access times have whole seconds, so that most lookups of a busy site write nothing.
            if cookie.accessed != now { cookies[place.index].accessed = now }
            matches.append(CookieMatch(domain: number, place: place, pairEnd: next.pair, order: cookie.order))
        }
    }

    // MARK: Changing

    /// Inserts a cookie in send order.
    mutating func insert(_ stored: StoredCookie, _ cookie: ReceivedCookie) {
        var place = Place(index: cookies.count, pair: pairs.count, path: paths.count)
        // Most new cookies belong at the end.
        while place.index > 0, stored.order < cookies[place.index - 1].order {
            place.index -= 1
            place.pair -= Int(cookies[place.index].pairCount)
            place.path -= Int(cookies[place.index].pathCount)
        }
        cookies.insert(stored, at: place.index)
        pairs.insert(contentsOf: cookie.pair, at: place.pair)
        paths.insert(contentsOf: cookie.path, at: place.path)
    }

    /// Replaces a cookie with one of the same name and path.
    mutating func replace(_ place: Place, with stored: StoredCookie, _ cookie: ReceivedCookie) {
        pairs.replaceSubrange(place.pair..<(place.pair + Int(self[place].pairCount)), with: cookie.pair)
        cookies[place.index] = stored
    }

    mutating func remove(at place: Place) {
        let next = self.place(after: place)
        pairs.removeSubrange(place.pair..<next.pair)
        paths.removeSubrange(place.path..<next.path)
        cookies.remove(at: place.index)
    }
}

struct CookieMatch {
    /// The number of its domain among the domains of the request.
    let domain: Int
    let place: DomainCookies.Place
    let pairEnd: Int
    let order: SendOrder
}

extension Cookie {
    /// Makes the cookie at a place of a store.
    init(at place: DomainCookies.Place, of cookies: DomainCookies, in key: DomainKey) {
        let stored = cookies[place]
        self.init(
            nameOctets: Array(cookies.name(at: place)),
            valueOctets: Array(cookies.value(at: place)),
            domain: key.domain,
            isHostOnly: stored.isHostOnly,
            path: String(decoding: cookies.path(at: place), as: UTF8.self),
            expires: stored.expires,
            created: stored.created,
            lastAccessed: stored.accessed,
            isSecure: stored.isSecure,
            isHTTPOnly: stored.isHTTPOnly,
            sameSite: stored.sameSite,
            partition: key.partition
        )
    }
}
