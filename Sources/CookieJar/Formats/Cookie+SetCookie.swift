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
        let result = setCookie.withOctets { Self.read($0, from: url, context: context, now: now) }
        self = try result.get()
    }

    /// As ``init(setCookie:from:context:now:)``, of octets that need not be UTF-8.
    ///
    /// - Parameter acceptsInsecureNone: whether SameSite=None may be without Secure, as some jars have it
    ///   (``CookieJarConfiguration/acceptsInsecureSameSiteNone``).
    package init(
        setCookieOctets field: UnsafeBufferPointer<UInt8>,
        from url: HTTPURL,
        now: CookieTime,
        acceptsInsecureNone: Bool = false
    ) throws(CookieRejection) {
        self = try Self.read(
            field,
            from: url,
            context: CookieContext(),
            now: now,
            acceptsInsecureNone: acceptsInsecureNone
        ).get()
    }

    static func read(
        _ field: Octets,
        from url: HTTPURL,
        context: CookieContext,
        now: CookieTime,
        acceptsInsecureNone: Bool = false
    ) -> Result<Cookie, CookieRejection> {
        let parsed: ParsedSetCookie
        do throws(CookieRejection) {
            parsed = try SetCookieParser(ageLimit: CookieJarConfiguration.defaultMaximumAge, now: now).parse(field)
        } catch {
            return .failure(error)
        }
        return CookieRequest.with(url) { request in
            field.part(parsed.domain).withLowercased { domain in
                do throws(CookieRejection) {
                    let received = try ReceivedCookie(
                        parsed,
                        of: field,
                        domain: domain,
                        request: request,
                        context: context,
                        acceptsInsecureNone: acceptsInsecureNone
                    )
                    let partition = parsed.isPartitioned ? context.topLevelSite ?? Site(of: url) : nil
                    return .success(Cookie(received, partition: partition, now: now))
                } catch {
                    return .failure(error)
                }
            }
        }
    }
}

extension CookieTime {
    /// IMF-fixdate (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`. Times before the year 1601 and after 9999 are
    /// brought to the first and last second of these, for no reader takes others.
    public var httpDate: String {
        let first = Int64(Calendar.daysSince1970(year: 1601, month: 1, day: 1)) * 86_400
        let last = Int64(Calendar.daysSince1970(year: 10_000, month: 1, day: 1)) * 86_400 - 1
        let whole = microseconds / 1_000_000 - (microseconds % 1_000_000 < 0 ? 1 : 0)
        let seconds = Int(min(max(whole, first), last))
        let days = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
        let date = Calendar.date(daysSince1970: days)
        let rest = seconds - days * 86_400
        let two = { (number: Int) in number < 10 ? "0\(number)" : "\(number)" }
        let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][((days % 7) + 7) % 7]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        return "\(weekday), \(two(date.day)) \(months[date.month - 1]) \(date.year) "
            + "\(two(rest / 3600)):\(two(rest / 60 % 60)):\(two(rest % 60)) GMT"
    }
}
