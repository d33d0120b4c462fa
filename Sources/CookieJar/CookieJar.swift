// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
public import Names

/// The cookies of one user, under the rules of RFC 6265bis.
///
/// The URL of a request selects the cookies, by the name of its host. The address that the socket connects to does not matter. A
/// jar is safe to use from several threads.
///
/// ```swift
/// let jar = CookieJar()
/// let url = try HTTPURL("https://www.example.com/account")
/// jar.store("id=42; Secure; Path=/", from: url)  // .kept
/// jar.header(for: url)                           // "id=42"
/// ```
public final class CookieJar: Sendable {
    package let configuration: CookieJarConfiguration
    let state: NIOLockedValueBox<CookieStore>
    let clock: @Sendable () -> CookieTime

    /// Makes an empty jar.
    ///
    /// - Parameters:
    ///   - configuration: The limits and policies.
    ///   - clock: Returns the time for calls that do not specify one. Default: the system's clock.
    public init(
        configuration: CookieJarConfiguration = CookieJarConfiguration(),
        clock: @escaping @Sendable () -> CookieTime = { .now }
    ) {
        self.configuration = configuration
        self.clock = clock
        state = NIOLockedValueBox(CookieStore(configuration: configuration))
    }

    // MARK: Set-Cookie

    /// Stores the cookie of a Set-Cookie header field in a response (RFC 6265bis §5.6, §5.7).
    ///
    /// - Parameters:
    ///   - setCookie: The value of one field. ``SetCookieSplitter`` splits several fields that are joined by commas.
    ///   - url: The URL of the request, with the name of the host.
    ///   - context: The context of the response. Default: a same-site request.
    ///   - now: The time. Default: the time of the jar's clock.
    /// - Returns: The outcome.
    @discardableResult
    public func store(
        _ setCookie: String,
        from url: HTTPURL,
        context: CookieContext = CookieContext(),
        now: CookieTime? = nil
    ) -> CookieOutcome {
        store(octets: Array(setCookie.utf8), from: url, context: context, now: now)
    }

    /// Stores the cookies of the Set-Cookie header fields in a response, in order.
    ///
    /// - Returns: The outcome of each field.
    @discardableResult
    public func store(
        _ setCookies: [String],
        from url: HTTPURL,
        context: CookieContext = CookieContext(),
        now: CookieTime? = nil
    ) -> [CookieOutcome] {
        setCookies.map { store($0, from: url, context: context, now: now) }
    }

    /// Stores the cookie of a Set-Cookie header field that may not be UTF-8.
    ///
    /// - Returns: The outcome.
    @discardableResult
    package func store(
        octets setCookie: [UInt8],
        from url: HTTPURL,
        context: CookieContext = CookieContext(),
        now: CookieTime? = nil
    ) -> CookieOutcome {
        let now = now ?? clock()
        return change(nil, now: now) { $0.store(setCookie, from: url, context: context, now: now) }
    }

    // MARK: Cookie

    /// The Cookie header field of a request (RFC 6265bis §5.8).
    ///
    /// - Parameters:
    ///   - url: The URL of the request, with the name of the host.
    ///   - context: The context of the request. Default: a same-site request with a safe method.
    ///   - now: The time. Default: the time of the jar's clock.
    /// - Returns: The value of the field. Nil if no cookie matches the request. Invalid UTF-8 is replaced.
    public func header(
        for url: HTTPURL,
        context: CookieContext = CookieContext(),
        now: CookieTime? = nil
    ) -> String? {
        headerOctets(for: url, context: context, now: now).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The Cookie header field of a request, as octets.
    package func headerOctets(
        for url: HTTPURL,
        context: CookieContext = CookieContext(),
        now: CookieTime? = nil
    ) -> [UInt8]? {
        let query = query(for: url, context: context, now: now)
        return state.withLockedValue { $0.header(for: query) }
    }

    /// The cookies that match a request, in the order of the header.
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

    /// Changes the store and notifies its followers.
    func change<Result>(
        _ source: ChangeSource?,
        now: CookieTime? = nil,
        body: (inout CookieStore) -> Result
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
