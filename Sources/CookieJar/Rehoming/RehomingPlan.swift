// SPDX-License-Identifier: Apache-2.0

package import Names

/// What becomes of the cookies of another store that are filed under an address, when they go to the host that it served.
///
/// A move is made by storing the new cookie and deleting the old one when the store has the new.
package struct RehomingPlan: Sendable {
    /// Cookies that move: the index of the old one, and the one to be.
    package var moves: [(old: Int, new: Cookie)] = []
    /// Those that give way to one of the host, and are to go.
    package var superseded: [Int] = []
    /// Why the host cannot have some: they stay.
    package var refused: [CookieRejection] = []

    /// Plans.
    ///
    /// - Parameter cookies: Every cookie of the store.
    package init(_ cookies: [Cookie], from address: IPAddress, to host: Host, now: CookieTime) {
        let origin = Host(address).urlForm
        guard host.urlForm != origin else { return }
        // What a host may have is the jar's knowledge.
        let judge = CookieJar(configuration: .unbounded)
        let living = cookies.indices.filter { !cookies[$0].isExpired(at: now) }
        let places = Dictionary(living.map { (CookiePlace(cookies[$0]), cookies[$0]) }) { first, _ in first }
        for index in living where cookies[index].domain == origin {
            guard let new = cookies[index].rehomed(to: host, unless: { places[CookiePlace($0)] }) else {
                superseded.append(index)
                continue
            }
            if case .rejected(let reason) = judge.insert(new, now: now) {
                refused.append(reason)
            } else {
                moves.append((index, new))
            }
        }
    }
}

extension Cookie {
    /// The cookie as it is with a host, where it gives way to one that is there; nil if that one is not older.
    ///
    /// - Parameter present: What is in the place of a cookie.
    func rehomed(to host: Host, unless present: (Cookie) -> Cookie?) -> Cookie? {
        var cookie = self
        cookie.domain = host.urlForm
        // A Domain that is an address never reached another host, and must not begin to.
        cookie.isHostOnly = true
        // The page at the top was that host's, too.
        if let partition, partition.domain == domain {
            cookie.partition = Site(isSecure: partition.isSecure, host: host)
        }
        if let present = present(cookie), present.created >= created { return nil }
        return cookie
    }
}
