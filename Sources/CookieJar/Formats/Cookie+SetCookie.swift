// SPDX-License-Identifier: Apache-2.0

public import Names

extension Cookie.SameSite {
    /// The attribute's value; nil where there is no attribute.
    var name: String? {
        switch self {
        case .unspecified: nil
        case .lax: "Lax"
        case .strict: "Strict"
        case .none: "None"
        }
    }
}

extension Cookie {
    /// The Set-Cookie header field that a server would write for this cookie. A host-only cookie has no Domain: that it is
    /// for `domain` must be told by the URL that the field comes from.
    public var setCookieOctets: [UInt8] {
        // A nameless cookie whose value has = would be read as one with a name.
        let equals: [UInt8] = nameOctets.isEmpty && valueOctets.contains(.equals) ? [.equals] : []
        return equals + pairOctets + Array(attributes.utf8)
    }

    /// The attributes as a Set-Cookie header field has them, with the semicolon before each.
    var attributes: String {
        var text = "; Path=\(path)"
        if !isHostOnly { text += "; Domain=\(domain)" }
        if let expires { text += "; Expires=\(expires.httpDate)" }
        if isSecure { text += "; Secure" }
        if isHTTPOnly { text += "; HttpOnly" }
        if let name = sameSite.name { text += "; SameSite=\(name)" }
        if partition != nil { text += "; Partitioned" }
        return text
    }

    /// The cookie that a Set-Cookie header field of a response from `url` makes, by those rules of RFC 6265bis that need
    /// no jar.
    ///
    /// - Throws: Why there is none.
    public init(
        setCookie: String,
        from url: HTTPURL,
        context: CookieContext = CookieContext(),
        now: CookieTime
    ) throws(CookieRejection) {
        try self.init(setCookieOctets: Array(setCookie.utf8), from: url, context: context, now: now)
    }

    /// As ``init(setCookie:from:context:now:)``, of octets that need not be UTF-8.
    ///
    /// - Parameter acceptsInsecureNone: whether SameSite=None may be without Secure, as some jars have it
    ///   (``CookieJarConfiguration/acceptsInsecureSameSiteNone``).
    package init(
        setCookieOctets field: [UInt8],
        from url: HTTPURL,
        context: CookieContext = CookieContext(),
        now: CookieTime,
        acceptsInsecureNone: Bool = false
    ) throws(CookieRejection) {
        var configuration = CookieJarConfiguration()
        configuration.acceptsInsecureSameSiteNone = acceptsInsecureNone
        let received = try ReceivedCookie(
            field,
            from: url,
            request: CookieRequest(url),
            context: context,
            configuration: configuration,
            now: now
        )
        self.init(received, now: now)
    }
}

extension CookieTime {
    /// IMF-fixdate (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`. Times before the year 1601 and after 9999 are
    /// brought to the first and last second of these, because readers take no others.
    public var httpDate: String { HTTPDate.text(wholeSeconds.microseconds / 1_000_000) }
}
