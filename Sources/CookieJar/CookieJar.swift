// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
public import Names

/// The cookies of one user, by the rules of RFC 6265bis.
///
/// A jar is asked with the URL of the request, the one with the name: the address that a socket goes to plays no part. Many
/// threads may use a jar at once.
///
/// ```swift
/// let jar = CookieJar()
/// let url = try HTTPURL("https://www.example.com/account")
/// jar.store("id=42; Secure; Path=/", from: url)  // .kept
/// jar.header(for: url)                           // "id=42"
/// ```
public final class CookieJar: Sendable {
    let configuration: CookieJarConfiguration
    let state: NIOLockedValueBox<CookieStore>
    let clock: @Sendable () -> CookieTime

    /// An empty jar.
    ///
    /// - Parameters:
    ///   - configuration: Bounds and policy.
    ///   - clock: Gives the time where a call does not; default the system's clock.
    public init(
        configuration: CookieJarConfiguration = CookieJarConfiguration(),
        clock: @escaping @Sendable () -> CookieTime = { .now }
    ) {
        self.configuration = configuration
        self.clock = clock
        state = NIOLockedValueBox(CookieStore(configuration: configuration))
    }

    // MARK: Set-Cookie

    /// Stores what a Set-Cookie header field of a response says (RFC 6265bis §5.6, §5.7).
    ///
    /// - Parameters:
    ///   - setCookie: The field's value; one field, not several joined by commas (``SetCookieSplitter`` parts those).
    ///   - url: The URL that was asked, with the name of the host.
    ///   - context: Who sets it; default a same-site request.
    ///   - now: The time; default what the jar's clock says.
    /// - Returns: What became of it.
    @discardableResult
    public func store(
        _ setCookie: String,
        from url: HTTPURL,
        context: CookieContext = CookieContext(),
        now: CookieTime? = nil
    ) -> CookieOutcome {
        store(octets: Array(setCookie.utf8), from: url, context: context, now: now)
    }

    /// Stores what the Set-Cookie header fields of a response say, in their order.
    ///
    /// - Returns: What became of each.
    @discardableResult
    public func store(
        _ setCookies: [String],
        from url: HTTPURL,
        context: CookieContext = CookieContext(),
        now: CookieTime? = nil
    ) -> [CookieOutcome] {
        setCookies.map { store($0, from: url, context: context, now: now) }
    }

    /// Stores what a Set-Cookie header field says whose octets need not be UTF-8.
    ///
    /// - Returns: What became of it.
    @discardableResult
    public func store(
        octets setCookie: [UInt8],
        from url: HTTPURL,
        context: CookieContext = CookieContext(),
        now: CookieTime? = nil
    ) -> CookieOutcome {
        let now = now ?? clock()
        return change(nil, now) { $0.store(setCookie, from: url, context: context, now: now) }
    }

    // MARK: Cookie

    /// The Cookie header field of a request (RFC 6265bis §5.8).
    ///
    /// - Parameters:
    ///   - url: The URL that is asked, with the name of the host.
    ///   - context: Who asks; default a same-site request with a safe method.
    ///   - now: The time; default what the jar's clock says.
    /// - Returns: The field's value; nil where no cookie goes with the request. Octets that are not UTF-8 are replaced:
    ///   ``headerOctets(for:context:now:)`` keeps them.
    public func header(
        for url: HTTPURL,
        context: CookieContext = CookieContext(),
        now: CookieTime? = nil
    ) -> String? {
        headerOctets(for: url, context: context, now: now).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The Cookie header field of a request, as octets.
    public func headerOctets(
        for url: HTTPURL,
        context: CookieContext = CookieContext(),
        now: CookieTime? = nil
    ) -> [UInt8]? {
        let query = query(for: url, context: context, now: now)
        return state.withLockedValue { $0.header(for: query) }
    }

    /// The cookies that a request gets, in the order of the header.
    public func cookies(
        for url: HTTPURL,
        context: CookieContext = CookieContext(),
        now: CookieTime? = nil
    ) -> [Cookie] {
        let query = query(for: url, context: context, now: now)
        return state.withLockedValue { $0.cookies(for: query) }
    }

    private func query(for url: HTTPURL, context: CookieContext, now: CookieTime?) -> CookieQuery {
        CookieQuery(url, context: context, now: now ?? clock(), filter: configuration.matchFilter)
    }

    /// All cookies that have not expired, in the order in which they were first stored.
    public func allCookies(now: CookieTime? = nil) -> [Cookie] {
        let now = now ?? clock()
        return state.withLockedValue { $0.cookies(at: now) }
    }

    /// Changes the store, and tells its followers.
    func change<Result>(
        _ source: ChangeSource?,
        _ now: CookieTime? = nil,
        _ body: (inout CookieStore) -> Result
    ) -> Result {
        state.withLockedValue { store in
            store.source = source
            if !store.followers.isEmpty { store.time = now ?? clock() }
            defer { store.publishChanges() }
            return body(&store)
        }
    }

    deinit {
        state.withLockedValue { store in
            for follower in store.followers { follower.finish() }
        }
    }
}
