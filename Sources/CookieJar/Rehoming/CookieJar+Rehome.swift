// SPDX-License-Identifier: Apache-2.0

public import Names

/// What ``CookieJar/rehome(from:to:now:)`` did.
public struct CookieRehoming: Hashable, Sendable {
    /// Cookies that are with the host now.
    public package(set) var moved = 0
    /// Cookies that gave way to one of the host that is not older.
    public package(set) var superseded = 0
    /// Cookies that the host cannot have, and why; they stay where they were.
    public package(set) var refused: [CookieRejection] = []

    package init() {}
}

extension CookieJar {
    /// Moves the cookies that are filed under an address to the host that it served.
    ///
    /// That is the repair for cookies of programs that wrote addresses into URLs. Each keeps its attributes, gives way to
    /// one of the same name and path that the host has got since, and is deleted under the address once it is stored under
    /// the host. No reader sees the jar in between. Which host an address served must be known: an address that served
    /// several is not to be guessed.
    @discardableResult
    public func rehome(from address: IPAddress, to host: Host, now: CookieTime? = nil) -> CookieRehoming {
        let now = now ?? clock()
        let origin = Host(address).urlForm
        return change(nil, now) { store in
            var result = CookieRehoming()
            // Where the host is the address itself, each cookie would give way to itself.
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
