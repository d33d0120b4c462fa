// SPDX-License-Identifier: Apache-2.0

import Names

/// The storage model (RFC 6265bis §5.7).
extension CookieStore {
    /// Stores the cookie of one Set-Cookie header field in a response from `url`.
    mutating func store(
        _ field: [UInt8],
        from url: HTTPURL,
        context: CookieContext,
        now: CookieTime
    ) -> CookieOutcome {
        do throws(CookieRejection) {
            let request = CookieRequest(url)
            let cookie = try ReceivedCookie(
                field,
                from: url,
                request: request,
                context: context,
                configuration: configuration,
                now: now
            )
            try checkPolicy(cookie, from: url, context: context, now: now)
            // Step 16.
            if !request.isSecure, !cookie.isSecure, overlaysSecureCookie(cookie, from: request, now: now) {
                throw .overlaysSecureCookie
            }
            return try insert(cookie, api: context.api, now: now)
        } catch {
            return .rejected(error)
        }
    }

    /// Whether a cookie value satisfies the rules that need no request and no store.
    func accepts(_ cookie: Cookie) -> Bool { (try? ReceivedCookie(cookie).check(configuration)) != nil }

    mutating func insert(_ cookie: Cookie, isOfThisSession: Bool, now: CookieTime) -> CookieOutcome {
        // A clock that is not set yet must not end the cookies of the right time.
        let limit = now.isPlausible ? now.advanced(bySeconds: configuration.maxAge.components.seconds) : .distantFuture
        let received = ReceivedCookie(cookie, isOfThisSession: isOfThisSession, expiryLimit: limit)
        do throws(CookieRejection) {
            try received.check(configuration)
            return try insert(received, api: .http, now: now)
        } catch {
            return .rejected(error)
        }
    }

    /// Steps 23 and 24: replaces the cookie with the same name, domain, host-only flag and path, or adds a new one.
    private mutating func insert(
        _ cookie: ReceivedCookie,
        api: CookieContext.API,
        now: CookieTime
    ) throws(CookieRejection) -> CookieOutcome {
        let isExpired = cookie.expires.map { $0 <= now } ?? false
        let domain = domains.index(forKey: cookie.key)
        if let domain, let place = place(of: cookie, in: domain) {
            let old = self[place]
            if old.isExpired(at: now) {
                remove(place, cause: .expired)
                return isExpired ? .deleted : add(cookie, to: domains.index(forKey: cookie.key), now: now)
            } else {
                guard api == .http || !old.isHTTPOnly else { throw .overwritesHTTPOnly }
                if isExpired {
                    remove(place, cause: .overwritten)
                    return .deleted
                }
                replace(place, with: cookie, now: now)
                return .replaced
            }
        }
        return isExpired ? .deleted : add(cookie, to: domain, now: now)
    }

    /// Step 16: whether a cookie from an insecure connection would hide a Secure cookie of the same name in the same domain,
    /// above it or below it.
    private func overlaysSecureCookie(
        _ cookie: ReceivedCookie,
        from request: CookieRequest,
        now: CookieTime
    ) -> Bool {
        let (domain, partition) = (cookie.key.domain, cookie.key.partition)
        var isOverlaid = false
        func look(_ domain: String) {
            guard !isOverlaid, let cookies = domains[DomainKey(domain: domain, partition: partition)] else { return }
            isOverlaid =
                cookies.firstPlace { stored, place in
                    stored.isSecure && !stored.isExpired(at: now) && cookies.name(at: place) == cookie.name
                        && PathMatch.matches(cookie.path, cookiePath: cookies.path(at: place))
                } != nil
        }
        // No domain is above or below an address.
        guard !request.isAddress else {
            look(domain)
            return isOverlaid
        }
        DomainMatch.forEachDomain(of: domain, look)
        if let site = PublicSuffixList.registrableDomain(of: domain) {
            let below = domainsBySite[DomainKey(domain: site, partition: partition)] ?? []
            for other in below where DomainMatch.isBelow(other, domain) { look(other) }
        } else {
            // The hosts below a public suffix belong to many sites, so search all domains. A public suffix rarely sets cookies.
            for other in domains.keys where other.partition == partition && DomainMatch.isBelow(other.domain, domain) {
                look(other.domain)
            }
        }
        return isOverlaid
    }

    /// Step 1.
    private func checkPolicy(
        _ cookie: ReceivedCookie,
        from url: HTTPURL,
        context: CookieContext,
        now: CookieTime
    ) throws(CookieRejection) {
        let isAccepted =
            switch configuration.acceptPolicy.rule {
            case .all: true
            case .none: false
            case .mainDocumentOnly: context.topLevelSite.map { $0 == Site(of: url) } ?? true
            case .custom(let accepts): accepts(Cookie(cookie, now: now), url)
            }
        guard isAccepted else { throw .policy }
    }
}

extension Cookie {
    /// The received cookie as it would be stored if it replaced no other cookie.
    init(_ cookie: ReceivedCookie, now: CookieTime) {
        self.init(
            nameOctets: Array(cookie.name),
            valueOctets: Array(cookie.value),
            domain: cookie.key.domain,
            isHostOnly: cookie.isHostOnly,
            path: String(decoding: cookie.path, as: UTF8.self),
            expires: cookie.expires,
            created: cookie.created ?? now,
            lastAccessed: cookie.accessed ?? now,
            isSecure: cookie.isSecure,
            isHTTPOnly: cookie.isHTTPOnly,
            sameSite: cookie.sameSite,
            partition: cookie.key.partition
        )
    }
}
