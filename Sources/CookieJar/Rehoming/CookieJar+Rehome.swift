// SPDX-License-Identifier: Apache-2.0

public import Names

/// The result of ``CookieJar/rehome(from:to:now:)``.
public struct CookieRehoming: Hashable, Sendable {
    /// The number of cookies that moved to the host.
    public package(set) var moved = 0
    /// The number of cookies that were deleted because the host has one that is not older.
    public package(set) var superseded = 0
    /// The reasons for cookies that the host cannot have. They stay under the address.
    public package(set) var refused: [CookieRejection] = []

    package init() {}
}

extension CookieJar {
    /// Moves the cookies that are stored under an address to the host that the address served.
    ///
    /// This repairs the jars of programs that put addresses into URLs. A cookie keeps its attributes and is deleted under the
    /// address once it is stored under the host. If the host has a cookie with the same name and path that is not older, the
    /// cookie is only deleted. Readers never see an intermediate state. The caller must know which host the address served. Do
    /// not guess if it served several.
    @discardableResult
    public func rehome(from address: IPAddress, to host: Host, now: CookieTime? = nil) -> CookieRehoming {
        let now = now ?? clock()
        let origin = Host(address).urlForm
        return change(nil, now: now) { store in
            var result = CookieRehoming()
            // With the address itself as the host, each cookie would be superseded by itself.
            guard host.urlForm != origin else { return result }
            for old in store.cookies(at: now) where old.domain == origin {
                if let cookie = old.rehomed(to: host, unless: { store.cookie(like: $0, at: now) }) {
                    let isOfThisSession = store.isOfThisSession(old)
                    if case .rejected(let reason) = store.insert(cookie, isOfThisSession: isOfThisSession, now: now) {
                        result.refused.append(reason)
                        continue
                    }
                    result.moved += 1
                } else {
                    result.superseded += 1
                }
                _ = store.remove(old)
            }
            return result
        }
    }
}
