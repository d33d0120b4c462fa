// SPDX-License-Identifier: Apache-2.0

import Names

/// A cookie on its way into a store: its texts still belong to the header field and the URL that it came by.
struct ReceivedCookie {
    var name: Octets
    var value: Octets
    var domain: Octets
    var path: Octets
    var isHostOnly: Bool
    var expires: CookieTime?
    var isSecure: Bool
    var isHTTPOnly: Bool
    var sameSite: Cookie.SameSite
    /// When it was created, where that is known; nil: when it is stored, or when the one that it replaces was.
    var created: CookieTime?
    /// When it was last sent, where that is known.
    var accessed: CookieTime?
    /// Whether the session that runs stores it, and not one before it (``CookieJar/clearSession()``).
    var isOfThisSession = true
}

extension ReceivedCookie {
    /// Those steps of RFC 6265bis §5.7 that need no store. `domain` is the Domain attribute in lower case.
    init(
        _ parsed: ParsedSetCookie,
        of field: Octets,
        domain: Octets,
        request: CookieRequest,
        context: CookieContext,
        acceptsInsecureNone: Bool = false
    ) throws(CookieRejection) {
        name = field.part(parsed.name)
        value = field.part(parsed.value)
        expires = parsed.expiry
        isSecure = parsed.isSecure
        isHTTPOnly = parsed.isHTTPOnly
        sameSite = parsed.sameSite
        (self.domain, isHostOnly) = try Self.scope(domain, request)
        // Step 11.
        path = field.part(parsed.path)
        guard path.isASCII else { throw .nonASCIIPath }
        let hasRootPath = path.count == 1
        if path.isEmpty { path = Self.defaultPath(of: request) }
        guard path.count <= UInt16.max else { throw .pathTooLong }
        // Step 13.
        guard !isSecure || request.isSecure else { throw .secureFromInsecureOrigin }
        // Step 15.
        guard !isHTTPOnly || context.api == .http else { throw .httpOnlyFromScript }
        // Steps 18 and 19.
        guard context.stores(sameSite) else { throw .crossSite }
        guard sameSite != .none || isSecure || acceptsInsecureNone else { throw .sameSiteNoneWithoutSecure }
        guard !parsed.isPartitioned || isSecure else { throw .partitionedWithoutSecure }
        try checkPrefixes(hasRootPath: hasRootPath)
    }

    /// The same steps for a cookie that is no server's: what its parts alone can break.
    func checkValue(isPartitioned: Bool, acceptsInsecureNone: Bool) throws(CookieRejection) {
        guard !name.hasForbiddenControl, !value.hasForbiddenControl, !path.hasForbiddenControl else {
            throw .controlCharacter
        }
        guard name.count + value.count <= SetCookieParser.maximumPairLength else { throw .tooLarge }
        guard !name.isEmpty || !value.isEmpty else { throw .empty }
        // What would be read back as something else.
        let isWhole = { (part: Octets) in
            part.trimmed(part.indices) == part.indices && !part.contains(.semicolon)
        }
        guard isWhole(name), isWhole(value), !name.contains(.equals),
            path.first == .slash, isWhole(path), Host.isCanonical(domain)
        else { throw .malformed }
        guard path.isASCII else { throw .nonASCIIPath }
        guard path.count <= UInt16.max else { throw .pathTooLong }
        let isAddress = (try? Host(String(decoding: domain, as: UTF8.self)))?.address != nil
        guard isHostOnly || isAddress || !PublicSuffixList.isPublicSuffix(domain) else { throw .publicSuffix }
        guard sameSite != .none || isSecure || acceptsInsecureNone else { throw .sameSiteNoneWithoutSecure }
        guard !isPartitioned || isSecure else { throw .partitionedWithoutSecure }
        try checkPrefixes(hasRootPath: path.count == 1)
    }

    /// Domain and host-only flag (steps 8 to 10).
    private static func scope(
        _ domain: Octets,
        _ request: CookieRequest
    ) throws(CookieRejection) -> (domain: Octets, isHostOnly: Bool) {
        // No name begins with an empty label, and where cookies are exchanged a dot there stands for the hosts below.
        guard request.host.count <= UInt8.max, request.host.first != .dot else { throw .malformed }
        guard !domain.isEmpty else { return (request.host, true) }
        guard domain.isASCII else { throw .nonASCIIDomain }
        let isHost = domain.isSame(as: request.host)
        if isHost, request.isAddress { return (domain, false) }
        guard !PublicSuffixList.isPublicSuffix(domain) else {
            guard isHost else { throw .publicSuffix }
            return (request.host, true)
        }
        guard DomainMatch.matches(request.host, isAddress: request.isAddress, domain: domain) else {
            throw .foreignDomain
        }
        return (domain, false)
    }

    /// Steps 20 to 22, and the same for `__Http-` and `__Host-Http-` (draft-ietf-httpbis-layered-cookies §5.5.3).
    private func checkPrefixes(hasRootPath: Bool) throws(CookieRejection) {
        guard !name.isEmpty else {
            let prefixes: [StaticString] = ["__secure-", "__host-", "__http-"]
            guard value.first != 0x5f || !prefixes.contains(where: value.startsCaseInsensitively) else {
                throw .hiddenPrefix
            }
            return
        }
        guard name[0] == 0x5f else { return }
        if name.startsCaseInsensitively(with: "__secure-"), !isSecure { throw .securePrefix }
        if name.startsCaseInsensitively(with: "__host-"), !isSecure || !isHostOnly || !hasRootPath { throw .hostPrefix }
        if name.startsCaseInsensitively(with: "__http-") || name.startsCaseInsensitively(with: "__host-http-"),
            !isSecure || !isHTTPOnly
        {
            throw .httpPrefix
        }
    }

    private static let root: StaticString = "/"

    /// The default-path (§5.1.4).
    private static func defaultPath(of request: CookieRequest) -> Octets {
        let length = PathMatch.defaultPathLength(request.path)
        return length > 0 ? request.path.part(0..<length) : Octets(start: root.utf8Start, count: 1)
    }
}

extension Host {
    /// Whether a domain is written as a host of a URL is: what a request could ask for.
    fileprivate static func isCanonical(_ domain: Octets) -> Bool {
        let text = String(decoding: domain, as: UTF8.self)
        return domain.first != .dot && (try? Host(text))?.urlForm == text
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Calls `body` with the octets in lower case, which are copied only if they are not yet.
    @inline(__always)
    func withLowercased<Result>(_ body: (Octets) -> Result) -> Result {
        guard contains(where: { $0 != $0.lowercased }) else { return body(self) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { copy in
            for index in indices { copy[index] = self[index].lowercased }
            return body(Octets(copy))
        }
    }
}
