// SPDX-License-Identifier: Apache-2.0

import Names

/// A cookie before it is stored.
struct ReceivedCookie {
    /// `name=value; ` as in the Cookie header field. For a nameless cookie, the value alone. Includes the separator so that a
    /// lookup copies one range for each cookie.
    let pair: [UInt8]
    let nameCount: Int
    let key: DomainKey
    let path: [UInt8]
    let isHostOnly: Bool
    let expires: CookieTime?
    let isSecure: Bool
    let isHTTPOnly: Bool
    let sameSite: Cookie.SameSite
    /// The creation time, if known. Nil for the time of storing, or the creation time of the replaced cookie.
    let created: CookieTime?
    /// The time when it was last sent, if known.
    let accessed: CookieTime?
    /// Whether the current session stores it, rather than an earlier one (``CookieJar/clearSession()``).
    let isOfThisSession: Bool

    /// The octets of the name. Empty for a nameless cookie.
    var name: ArraySlice<UInt8> { pair[..<nameCount] }
    var value: ArraySlice<UInt8> { pair[(nameCount == 0 ? 0 : nameCount + 1)...].dropLast(Cookie.separator.count) }

    private static func pair(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) -> [UInt8] {
        var pair: [UInt8] = []
        pair.reserveCapacity(name.count + value.count + 3)
        pair += name
        if !name.isEmpty { pair.append(.equals) }
        pair += value
        pair += Cookie.separator
        return pair
    }

    /// Reads a Set-Cookie field of a response. Performs the steps of RFC 6265bis §5.6 and §5.7 that need no store.
    init(
        _ field: [UInt8],
        from url: HTTPURL,
        request: CookieRequest,
        context: CookieContext,
        configuration: CookieJarConfiguration,
        now: CookieTime
    ) throws(CookieRejection) {
        let ageLimit = configuration.maxAge.components.seconds
        let parsed = try SetCookieParser(ageLimit: ageLimit, now: now).parse(field)
        let (domain, isHostOnly) = try Self.scope(Array(field[parsed.domain]), request)
        key = DomainKey(domain: domain, partition: parsed.isPartitioned ? context.partition(for: url) : nil)
        self.isHostOnly = isHostOnly
        pair = Self.pair(field[parsed.name], field[parsed.value])
        nameCount = parsed.name.count
        // Step 11.
        path = parsed.path.isEmpty ? PathMatch.defaultPath(of: url) : Array(field[parsed.path])
        expires = parsed.expiry
        isSecure = parsed.isSecure
        isHTTPOnly = parsed.isHTTPOnly
        sameSite = parsed.sameSite
        (created, accessed, isOfThisSession) = (nil, nil, true)
        guard path.isASCII else { throw .nonASCIIPath }
        // A server chooses its URLs too. Long default paths would make the jar larger than what is read of a file.
        guard path.count <= Cookie.maxPathOctets else { throw .pathTooLong }
        guard key.fitsJar else { throw .domainTooLong }
        // Step 13.
        guard !isSecure || request.isSecure else { throw .secureFromInsecureOrigin }
        // Step 15.
        guard !isHTTPOnly || context.api == .http else { throw .httpOnlyFromScript }
        // Step 18.
        guard context.stores(sameSite) else { throw .crossSite }
        try checkFlags(configuration, hasRootPath: parsed.path.count == 1)
    }

    init(_ cookie: Cookie, isOfThisSession: Bool = true, expiryLimit: CookieTime = .distantFuture) {
        pair = Self.pair(cookie.nameOctets[...], cookie.valueOctets[...])
        nameCount = cookie.nameOctets.count
        key = DomainKey(domain: cookie.domain, partition: cookie.partition)
        path = Array(cookie.path.utf8)
        isHostOnly = cookie.isHostOnly
        expires = cookie.expires.map { min($0, expiryLimit) }
        isSecure = cookie.isSecure
        isHTTPOnly = cookie.isHTTPOnly
        sameSite = cookie.sameSite
        created = cookie.created == .distantPast ? nil : cookie.created
        accessed = cookie.lastAccessed == .distantPast ? nil : cookie.lastAccessed
        self.isOfThisSession = isOfThisSession
    }

    /// Checks a cookie value against the rules that need no request and no store.
    func check(_ configuration: CookieJarConfiguration) throws(CookieRejection) {
        let parts = [Array(name), Array(value), path]
        guard !parts.contains(where: \.hasForbiddenControl) else { throw .controlCharacter }
        guard name.count + value.count <= SetCookieParser.maxPairLength else { throw .tooLarge }
        guard !name.isEmpty || !value.isEmpty else { throw .empty }
        // Rejects parts that would read back differently from the cookie's Set-Cookie field.
        let isWhole = parts.map { $0.trimmed($0.indices) == $0.indices && !$0.contains(.semicolon) }
        guard isWhole[0], !name.contains(.equals) else { throw .malformedName }
        guard isWhole[1] else { throw .malformedValue }
        guard isWhole[2], path.first == .slash else { throw .malformedPath }
        guard isHostOnly || !key.domain.utf8.contains(.semicolon), let host = try? Host(key.domain),
            host.urlForm == key.domain, !key.domain.hasPrefix(".")
        else { throw .malformedDomain }
        guard path.isASCII else { throw .nonASCIIPath }
        guard path.count <= Cookie.maxPathOctets else { throw .pathTooLong }
        guard key.fitsJar else { throw .domainTooLong }
        guard isHostOnly || !PublicSuffixList.isPublicSuffix(host) else { throw .publicSuffix }
        try checkFlags(configuration, hasRootPath: path.count == 1)
    }

    /// The domain and the host-only flag (steps 8 to 10). `attribute` is the value of the Domain attribute.
    private static func scope(
        _ attribute: [UInt8],
        _ request: CookieRequest
    ) throws(CookieRejection) -> (domain: String, isHostOnly: Bool) {
        // A name cannot start with an empty label, and in cookie file formats a leading dot means subdomains.
        guard !request.host.hasPrefix(".") else { throw .malformedDomain }
        guard !attribute.isEmpty else { return (request.host, true) }
        guard attribute.isASCII else { throw .nonASCIIDomain }
        let octets = attribute.contains { $0 != $0.lowercased } ? attribute.map(\.lowercased) : attribute
        let domain = String(decoding: octets, as: UTF8.self)
        let isHost = domain == request.host
        if isHost, request.isAddress { return (domain, false) }
        guard !PublicSuffixList.isPublicSuffix(octets) else {
            guard isHost else { throw .publicSuffix }
            return (request.host, true)
        }
        guard DomainMatch.matches(request.host, isAddress: request.isAddress, domain: domain) else {
            throw .foreignDomain
        }
        return (domain, false)
    }

    /// Steps 19 to 22, with similar rules for `__Http-` and `__Host-Http-` (draft-ietf-httpbis-layered-cookies §5.5.3).
    private func checkFlags(
        _ configuration: CookieJarConfiguration,
        hasRootPath: Bool
    ) throws(CookieRejection) {
        guard sameSite != .none || isSecure || configuration.acceptsInsecureSameSiteNone else {
            throw .sameSiteNoneWithoutSecure
        }
        guard key.partition == nil || isSecure else { throw .partitionedWithoutSecure }
        let prefixed = name.isEmpty ? value : name
        guard prefixed.first == UInt8(ascii: "_") else { return }
        if name.isEmpty {
            let isHidden = ["__secure-", "__host-", "__http-"].contains { value.startsCaseInsensitively(with: $0) }
            if isHidden { throw .hiddenPrefix }
            return
        }
        if name.startsCaseInsensitively(with: "__secure-"), !isSecure { throw .securePrefix }
        if name.startsCaseInsensitively(with: "__host-"), !isSecure || !isHostOnly || !hasRootPath { throw .hostPrefix }
        if name.startsCaseInsensitively(with: "__http-") || name.startsCaseInsensitively(with: "__host-http-"),
            !isSecure || !isHTTPOnly
        {
            throw .httpPrefix
        }
    }
}

extension CookieContext {
    /// The partition of Partitioned cookies for a URL.
    func partition(for url: HTTPURL) -> Site { topLevelSite ?? Site(of: url) }
}
