// SPDX-License-Identifier: Apache-2.0

import Names

/// A cookie on its way into a store.
struct ReceivedCookie {
    /// What stands between cookies in a Cookie header field.
    static let separator: [UInt8] = [.semicolon, .space]

    /// `name=value; ` as the Cookie header field carries it; a nameless cookie is its value. The separator is a part of it so
    /// that a look-up copies one piece a cookie.
    let pair: [UInt8]
    let nameCount: Int
    let key: DomainKey
    let path: [UInt8]
    let isHostOnly: Bool
    let expires: CookieTime?
    let isSecure: Bool
    let isHTTPOnly: Bool
    let sameSite: Cookie.SameSite
    /// When it was created, where that is known; nil: when it is stored, or when the cookie that it replaces was.
    let created: CookieTime?
    /// When it was last sent, where that is known.
    let accessed: CookieTime?
    /// Whether the current session stores it, and not one before it (``CookieJar/clearSession()``).
    let isOfThisSession: Bool

    /// The name's octets; empty for a nameless cookie.
    var name: ArraySlice<UInt8> { pair[..<nameCount] }
    /// The value's octets.
    var value: ArraySlice<UInt8> { pair[(nameCount == 0 ? 0 : nameCount + 1)...].dropLast(Self.separator.count) }

    private static func pair(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) -> [UInt8] {
        var pair: [UInt8] = []
        pair.reserveCapacity(name.count + value.count + 3)
        pair += name
        if !name.isEmpty { pair.append(.equals) }
        pair += value
        pair += separator
        return pair
    }

    /// Reads a Set-Cookie field of a response: those steps of RFC 6265bis §5.6 and §5.7 that need no store.
    init(
        _ field: [UInt8],
        from url: HTTPURL,
        request: CookieRequest,
        context: CookieContext,
        configuration: CookieJarConfiguration,
        now: CookieTime
    ) throws(CookieRejection) {
        let ageLimit = configuration.maximumAge.components.seconds
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
        guard path.count <= UInt16.max else { throw .pathTooLong }
        // Step 13.
        guard !isSecure || request.isSecure else { throw .secureFromInsecureOrigin }
        // Step 15.
        guard !isHTTPOnly || context.api == .http else { throw .httpOnlyFromScript }
        // Step 18.
        guard context.stores(sameSite) else { throw .crossSite }
        try checkFlags(configuration, hasRootPath: parsed.path.count == 1)
    }

    /// A cookie that comes as a value.
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

    /// Checks a cookie that comes as a value: the rules that its parts alone can break.
    func check(_ configuration: CookieJarConfiguration) throws(CookieRejection) {
        let parts = [Array(name), Array(value), path]
        guard !parts.contains(where: \.hasForbiddenControl) else { throw .controlCharacter }
        guard name.count + value.count <= SetCookieParser.maximumPairLength else { throw .tooLarge }
        guard !name.isEmpty || !value.isEmpty else { throw .empty }
        // Parts that a reader of the cookie's Set-Cookie field would read otherwise.
        guard parts.allSatisfy({ $0.trimmed($0.indices) == $0.indices && !$0.contains(.semicolon) }),
            !name.contains(.equals), path.first == .slash, isHostOnly || !key.domain.utf8.contains(.semicolon),
            let host = try? Host(key.domain), host.urlForm == key.domain, !key.domain.hasPrefix(".")
        else { throw .malformed }
        guard path.isASCII else { throw .nonASCIIPath }
        guard path.count <= UInt16.max else { throw .pathTooLong }
        guard isHostOnly || !PublicSuffixList.isPublicSuffix(host) else { throw .publicSuffix }
        try checkFlags(configuration, hasRootPath: path.count == 1)
    }

    /// Domain and host-only flag (steps 8 to 10). `attribute` is the Domain attribute.
    private static func scope(
        _ attribute: [UInt8],
        _ request: CookieRequest
    ) throws(CookieRejection) -> (domain: String, isHostOnly: Bool) {
        // No name begins with an empty label, and in formats of cookies a dot there stands for the hosts below.
        guard request.host.utf8.count <= UInt8.max, !request.host.hasPrefix(".") else { throw .malformed }
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

    /// Steps 19 to 22, and the same for `__Http-` and `__Host-Http-` (draft-ietf-httpbis-layered-cookies §5.5.3).
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
