// SPDX-License-Identifier: Apache-2.0

package import Names

/// The plan for moving the cookies of another store from an address to the host that the address served.
///
/// To move a cookie, store the new cookie, then delete the old one once the store has the new one.
package struct RehomingPlan: Sendable {
    /// The cookies to move: the index of the old cookie, and the new cookie.
    package var moves: [(old: Int, new: Cookie)] = []
    /// The indices of the cookies to delete, because the host has one that is not older.
    package var superseded: [Int] = []
    /// The reasons for cookies that the host cannot have. They stay under the address.
    package var refused: [CookieRejection] = []

    /// Makes a plan.
    ///
    /// - Parameter cookies: All cookies of the store.
    package init(_ cookies: [Cookie], from address: IPAddress, to host: Host, now: CookieTime) {
        let origin = Host(address).urlForm
        guard host.urlForm != origin else { return }
        // A jar decides which cookies the host may have.
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
    /// The cookie under another host. Nil if that host has a cookie in its place that is not older.
    ///
    /// - Parameter present: Returns the stored cookie in the place of a given cookie.
    func rehomed(to host: Host, unless present: (Cookie) -> Cookie?) -> Cookie? {
        var cookie = self
        cookie.domain = host.urlForm
        // A Domain attribute that is an address matches no other host, so the moved cookie must not match subdomains.
        cookie.isHostOnly = true
        // The top-level page belonged to the same host.
        if let partition, partition.domain == domain {
            cookie.partition = Site(isSecure: partition.isSecure, host: host)
        }
        if let present = present(cookie), present.created >= created { return nil }
        return cookie
    }
}
