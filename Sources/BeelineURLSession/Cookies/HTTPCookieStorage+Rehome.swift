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
    /// Moves the cookies that are filed under an address to the host that it served, as `CookieJar.rehome(from:to:now:)`
    /// does in a jar: each keeps its attributes, gives way to one of the same name and path that is not older, and is
    /// deleted under the address once the storage has it under the host.
    ///
    /// Foundation on Linux dates a cookie by when its object was made; one that is moved is dated anew.
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

    /// Moves the cookies that are filed under an address to the host that a resolver handed it out for.
    ///
    /// - Throws: `BeelineError` with code `addressUnknown` or `addressShared`; nothing has been moved then.
    @discardableResult
    public func rehome(from address: IPAddress, knownTo resolver: Resolver) throws(BeelineError) -> CookieRehoming {
        rehome(from: address, to: try resolver.onlyHost(of: address))
    }

    /// Sets a cookie; whether the storage has it then.
    private func stores(_ cookie: HTTPCookie) -> Bool {
        setCookie(cookie)
        return (cookies ?? []).contains {
            ($0.name, $0.domain, $0.path, $0.value) == (cookie.name, cookie.domain, cookie.path, cookie.value)
        }
    }
}
