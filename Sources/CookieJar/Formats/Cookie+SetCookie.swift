// SPDX-License-Identifier: Apache-2.0

public import Names

extension Cookie.SameSite {
    /// The value of the attribute, which is also its name in WebDriver and DevTools. Nil if there is no attribute.
    package var name: String? {
        switch self {
        case .unspecified: nil
        case .lax: "Lax"
        case .strict: "Strict"
        case .none: "None"
        }
    }
}

extension Cookie {
    /// The Set-Cookie header field of a server that sets this cookie. For a host-only cookie it has no Domain attribute, so the
    /// URL of the response must have `domain` as its host.
    package var setCookieOctets: [UInt8] {
        // Without the leading =, a nameless cookie with = in its value would be read as one with a name.
        let equals: [UInt8] = nameOctets.isEmpty && valueOctets.contains(.equals) ? [.equals] : []
        return equals + pairOctets + Array(attributes.utf8)
    }

    /// The attributes of a Set-Cookie header field, each after a semicolon.
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

    /// Makes the cookie of a Set-Cookie header field in a response from `url`, under the rules of RFC 6265bis that need no jar.
    ///
    /// - Throws: The reason for rejecting the cookie.
    public init(
        setCookie: String,
        from url: HTTPURL,
        context: CookieContext = CookieContext(),
        now: CookieTime
    ) throws(CookieRejection) {
        try self.init(setCookieOctets: Array(setCookie.utf8), from: url, context: context, now: now)
    }

    /// Like ``init(setCookie:from:context:now:)``, for octets that may not be UTF-8.
    ///
    /// - Parameter acceptsInsecureNone: Whether SameSite=None is accepted without Secure, as in
    ///   ``CookieJarConfiguration/acceptsInsecureSameSiteNone``.
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
    /// The time as IMF-fixdate (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`. Clamped to the years 1601 to 9999, because
    /// readers accept no others.
    package var httpDate: String { HTTPDate.text(wholeSeconds.microseconds / 1_000_000) }
}
