// SPDX-License-Identifier: Apache-2.0

public import Beeline
public import CookieJar
public import HTTPDNS
public import Names

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

extension HTTPCookieStorage {
    /// Moves the cookies stored under an address to the host that the address served, as `CookieJar.rehome(from:to:now:)` does
    /// in a jar. Each cookie keeps its attributes. A cookie of the host with the same name and path stays if it is not older.
    /// The storage deletes the old cookie once it has the new one.
    ///
    /// Foundation on Linux dates a cookie by the creation of its object, so a moved cookie gets a new date.
    @discardableResult
    public func rehome(from address: IPAddress, to host: Names.Host) -> CookieRehoming {
        let all = (cookies ?? []).compactMap { object in Cookie(object).map { (object: object, cookie: $0) } }
        let plan = RehomingPlan(all.map(\.cookie), from: address, to: host, now: .now)
        var result = CookieRehoming()
        result.refused = plan.refused
        result.superseded = plan.superseded.count
        for index in plan.superseded { deleteCookie(all[index].object) }
        for (index, _) in plan.moves {
            let old = all[index].object
            guard let new = old.moved(to: host.text), stores(new) else {
                result.refused.append(.policy)
                continue
            }
            result.moved += 1
            deleteCookie(old)
        }
        return result
    }

    /// Moves the cookies stored under an address to the host that the resolver returned the address for.
    ///
    /// - Throws: `BeelineError` with code `addressUnknown` or `addressShared`. No cookie has moved then.
    @discardableResult
    public func rehome(from address: IPAddress, knownTo resolver: Resolver) throws(BeelineError) -> CookieRehoming {
        rehome(from: address, to: try resolver.onlyHost(of: address))
    }

    /// Sets a cookie. Returns whether the storage accepted it.
    private func stores(_ cookie: HTTPCookie) -> Bool {
        setCookie(cookie)
        return (cookies ?? []).contains {
            ($0.name, $0.domain, $0.path, $0.value) == (cookie.name, cookie.domain, cookie.path, cookie.value)
        }
    }
}
