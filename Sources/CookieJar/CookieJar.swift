// SPDX-License-Identifier: Apache-2.0

public import Names

/// The cookies of one user, by the rules of RFC 6265bis.
///
/// A jar is asked with the URL of the request, the one with the name: which address a socket goes to is not its affair. It
/// may be used by many threads at once, and readers do not wait for each other.
///
/// ```swift
/// let jar = CookieJar()
/// let url = try HTTPURL("https://www.example.com/account")
/// jar.store("id=42; Secure; Path=/", from: url)  // .kept
/// jar.header(for: url)                           // "id=42"
/// ```
public final class CookieJar: Sendable {
    let state: ReadWriteLocked<CookieStore>
    let clock: @Sendable () -> CookieTime

    /// An empty jar.
    ///
    /// - Parameters:
    ///   - configuration: Bounds and policy.
    ///   - clock: What says the time where a call does not; default the system's clock. It is asked while the jar is locked, so
    ///     it cannot use the jar.
    public init(
        configuration: CookieJarConfiguration = CookieJarConfiguration(),
        clock: @escaping @Sendable () -> CookieTime = { .now }
    ) {
        self.clock = clock
        state = ReadWriteLocked(CookieStore(configuration: configuration, seed: .random(in: .min ... .max)))
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
        setCookie.withOctets { store(octets: $0, from: url, context: context, now: now) }
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
        octets setCookie: UnsafeBufferPointer<UInt8>,
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
        withMatches(for: url, context: context, now: now) { matches in
            guard matches.count > 0 else { return nil }
            return String(unsafeUninitializedCapacity: matches.headerCount) { memory in
                if let start = memory.baseAddress { matches.writeHeader(to: start) }
                return matches.headerCount
            }
        }
    }

    /// The Cookie header field of a request, as octets.
    public func headerOctets(
        for url: HTTPURL,
        context: CookieContext = CookieContext(),
        now: CookieTime? = nil
    ) -> [UInt8]? {
        withMatches(for: url, context: context, now: now) { matches in
            guard matches.count > 0 else { return nil }
            return [UInt8](unsafeUninitializedCapacity: matches.headerCount) { memory, count in
                if let start = memory.baseAddress { matches.writeHeader(to: start) }
                count = matches.headerCount
            }
        }
    }

    /// The cookies that a request gets, in the order of the header.
    public func cookies(
        for url: HTTPURL,
        context: CookieContext = CookieContext(),
        now: CookieTime? = nil
    ) -> [Cookie] {
        withMatches(for: url, context: context, now: now) { $0.cookies }
    }

    @inline(__always)
    private func withMatches<Result>(
        for url: HTTPURL,
        context: CookieContext,
        now: CookieTime?,
        _ body: (borrowing CookieMatches) -> Result
    ) -> Result {
        state.withReadLock { $0.withMatches(for: url, context: context, now: { now ?? clock() }, body) }
    }

    /// All cookies that have not expired, in no order.
    public func allCookies(now: CookieTime? = nil) -> [Cookie] {
        let now = now ?? clock()
        return state.withReadLock { $0.cookies(at: now) }
    }

    /// Changes the store, and tells those who follow.
    @inline(__always)
    func change<Result>(
        _ source: ChangeSource?,
        _ now: CookieTime? = nil,
        _ body: (inout CookieStore) -> Result
    ) -> Result {
        state.withWriteLock { store in
            store.source = source
            if !store.feeds.isEmpty { store.time = now ?? clock() }
            defer { store.publishChanges() }
            return body(&store)
        }
    }

    deinit {
        state.withWriteLock { store in
            for feed in store.feeds { feed.finish() }
        }
    }
}
