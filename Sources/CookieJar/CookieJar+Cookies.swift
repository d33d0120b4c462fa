// SPDX-License-Identifier: Apache-2.0

public import Names

/// Operations on cookies as values.
extension CookieJar {
    /// Inserts a cookie that does not come from a response.
    ///
    /// The jar enforces the rules that need no request: sizes, control characters, public suffixes, prefixes, SameSite=None
    /// without Secure, the maximum age. An expired cookie deletes the stored cookie with its name, domain and path.
    ///
    /// - Parameters:
    ///   - cookie: The cookie. Its creation time is kept, unless it is `.distantPast`.
    ///   - isOfThisSession: Whether ``clearSession()`` deletes the cookie. Default true.
    ///   - source: The mark of the change in `changes`.
    ///   - now: The time. Default: the time of the jar's clock.
    /// - Returns: The outcome.
    @discardableResult
    public func insert(
        _ cookie: Cookie,
        isOfThisSession: Bool = true,
        source: ChangeSource? = nil,
        now: CookieTime? = nil
    ) -> CookieOutcome {
        insert([cookie], isOfThisSession: isOfThisSession, source: source, now: now).first ?? .deleted
    }

    /// Inserts cookies in one step. Readers never see a part of them.
    ///
    /// - Returns: The outcome of each cookie. A cookie that a later one evicted is reported as rejected, because the
    ///   jar is full.
    @discardableResult
    public func insert(
        _ cookies: [Cookie],
        isOfThisSession: Bool = true,
        source: ChangeSource? = nil,
        now: CookieTime? = nil
    ) -> [CookieOutcome] {
        add(cookies, isOfThisSession: isOfThisSession, source: source, now: now).outcomes
    }

    /// Like ``insert(_:isOfThisSession:source:now:)``, and also returns how many cookies were evicted.
    package func add(
        _ cookies: [Cookie],
        isOfThisSession: Bool = true,
        source: ChangeSource? = nil,
        now: CookieTime? = nil
    ) -> CookieAddition {
        let now = now ?? clock()
        return change(source, now: now) { store in
            store.addition(of: cookies) { $0.insert($1, isOfThisSession: isOfThisSession, now: now) }
        }
    }

    /// Deletes the cookies for which the closure returns true. The closure runs while the jar is locked, so it must not use the
    /// jar.
    ///
    /// - Returns: The number of deleted cookies.
    @discardableResult
    public func remove(
        source: ChangeSource? = nil,
        where shouldRemove: (Cookie) -> Bool
    ) -> Int {
        change(source) { $0.remove(cause: .explicit) { shouldRemove($1()) } }
    }

    /// Deletes the cookie with the same name, domain, host-only flag, path and partition.
    ///
    /// - Returns: Whether the jar had such a cookie.
    @discardableResult
    public func remove(_ cookie: Cookie, source: ChangeSource? = nil) -> Bool {
        change(source) { $0.remove(cookie) }
    }

    /// Deletes the cookies that match a request for `url`. Includes Secure cookies even for an http URL.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - source: The mark of the changes in `changes`.
    ///   - now: The time. Default: the time of the jar's clock.
    ///   - shouldRemove: Returns true for a cookie to delete. Default: all. Runs while the jar is locked, so it must not use
    ///     the jar.
    /// - Returns: The number of deleted cookies.
    @discardableResult
    public func removeAll(
        for url: HTTPURL,
        source: ChangeSource? = nil,
        now: CookieTime? = nil,
        where shouldRemove: (Cookie) -> Bool = { _ in true }
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
            store.cookies(for: query).count { shouldRemove($0) && store.remove($0) }
        }
    }

    /// Deletes all cookies.
    ///
    /// - Returns: The number of deleted cookies.
    @discardableResult
    public func removeAll(source: ChangeSource? = nil) -> Int {
        change(source) { $0.remove(cause: .explicit) { _, _ in true } }
    }

    /// Deletes the expired cookies and frees their memory. Expired cookies are never sent, even without this call.
    public func removeExpired(now: CookieTime? = nil) {
        let now = now ?? clock()
        change(nil, now: now) { $0.removeExpired(at: now) }
    }

    /// Ends the session (RFC 6265bis §5.7): deletes the cookies without an expiry.
    ///
    /// - Returns: The number of deleted cookies.
    @discardableResult
    public func endSession() -> Int {
        change(nil) { $0.remove(cause: .explicit) { cookie, _ in cookie.expires == nil } }
    }

    /// Deletes the cookies that this session stored, with or without an expiry. Keeps the cookies of earlier sessions.
    ///
    /// - Returns: The number of deleted cookies.
    @discardableResult
    public func clearSession() -> Int {
        change(nil) { $0.remove(cause: .explicit) { cookie, _ in cookie.isOfThisSession } }
    }
}
