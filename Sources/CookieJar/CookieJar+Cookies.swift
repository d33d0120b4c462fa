// SPDX-License-Identifier: Apache-2.0

public import Names

/// Cookies handed over as values.
extension CookieJar {
    /// Puts a cookie into the jar, whoever made it.
    ///
    /// The rules that a cookie can break by itself hold: sizes, control characters, public suffixes, prefixes,
    /// SameSite=None without Secure, the longest life. An expired cookie deletes the one of its name, domain and path.
    ///
    /// - Parameters:
    ///   - cookie: The cookie. Its creation time is kept, unless it is `.distantPast`.
    ///   - isOfThisSession: Whether ``clearSession()`` takes it away; default true.
    ///   - source: Who does it, for those that follow `changes`.
    ///   - now: The time; default what the jar's clock says.
    /// - Returns: What became of it.
    @discardableResult
    public func insert(
        _ cookie: Cookie,
        isOfThisSession: Bool = true,
        source: ChangeSource? = nil,
        now: CookieTime? = nil
    ) -> CookieOutcome {
        insert([cookie], isOfThisSession: isOfThisSession, source: source, now: now).first ?? .deleted
    }

    /// Puts cookies into the jar at once: no reader sees a part of them.
    ///
    /// - Returns: What became of each. One that gave way to a later one of them was refused for want of room.
    @discardableResult
    public func insert(
        _ cookies: [Cookie],
        isOfThisSession: Bool = true,
        source: ChangeSource? = nil,
        now: CookieTime? = nil
    ) -> [CookieOutcome] {
        add(cookies, isOfThisSession: isOfThisSession, source: source, now: now).outcomes
    }

    /// As ``insert(_:isOfThisSession:source:now:)``, and says how many cookies the jar lost by it.
    package func add(
        _ cookies: [Cookie],
        isOfThisSession: Bool = true,
        source: ChangeSource? = nil,
        now: CookieTime? = nil
    ) -> CookieAddition {
        let now = now ?? clock()
        return change(source, now) { store in
            store.addition(of: cookies) { $0.insert($1, isOfThisSession: isOfThisSession, now: now) }
        }
    }

    /// Deletes the cookies for which the closure is true. It runs while the jar is locked, so it must not use the jar.
    ///
    /// - Returns: How many they were.
    @discardableResult
    public func remove(
        source: ChangeSource? = nil,
        where isWanted: (Cookie) -> Bool
    ) -> Int {
        change(source) { $0.remove(cause: .explicit) { isWanted($1()) } }
    }

    /// Deletes one cookie: the one of this cookie's name, domain, host-only flag, path and partition.
    ///
    /// - Returns: Whether there was one.
    @discardableResult
    public func remove(_ cookie: Cookie, source: ChangeSource? = nil) -> Bool {
        change(source) { $0.remove(cookie) }
    }

    /// Deletes the cookies that a request for `url` would get, Secure ones included though the URL be one of http.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - source: Who does it, for those that follow `changes`.
    ///   - now: The time; default what the jar's clock says.
    ///   - isWanted: Which of them; default all. It runs while the jar is locked, so it must not use the jar.
    /// - Returns: How many they were.
    @discardableResult
    public func removeAll(
        for url: HTTPURL,
        source: ChangeSource? = nil,
        now: CookieTime? = nil,
        where isWanted: (Cookie) -> Bool = { _ in true }
    ) -> Int {
        let now = now ?? clock()
        let query = CookieQuery(
            url,
            context: CookieContext(),
            now: now,
            filter: configuration.matchFilter,
            isOnAnyConnection: true
        )
        return change(source) { store in
            store.cookies(for: query).count { isWanted($0) && store.remove($0) }
        }
    }

    /// Deletes all cookies.
    ///
    /// - Returns: How many they were.
    @discardableResult
    public func removeAll(source: ChangeSource? = nil) -> Int {
        change(source) { $0.remove(cause: .explicit) { _, _ in true } }
    }

    /// Deletes the expired cookies and frees their memory. Expired cookies are never sent, whether this is called or not.
    public func removeExpired(now: CookieTime? = nil) {
        let now = now ?? clock()
        change(nil, now) { $0.removeExpired(at: now) }
    }

    /// Ends the session (RFC 6265bis §5.7): deletes the cookies without an expiry.
    ///
    /// - Returns: How many they were.
    @discardableResult
    public func endSession() -> Int {
        change(nil) { $0.remove(cause: .explicit) { cookie, _ in cookie.expires == nil } }
    }

    /// Deletes what this session stored, with or without an expiry, and nothing that was there before it.
    ///
    /// - Returns: How many they were.
    @discardableResult
    public func clearSession() -> Int {
        change(nil) { $0.remove(cause: .explicit) { cookie, _ in cookie.isOfThisSession } }
    }
}
