// SPDX-License-Identifier: Apache-2.0

/// What one Set-Cookie header field says (RFC 6265bis §5.6), as places in the field's octets: nothing is copied.
struct ParsedSetCookie {
    /// Where the name is; empty for a nameless cookie.
    var name: Range<Int> = 0..<0
    /// Where the value is.
    var value: Range<Int> = 0..<0
    /// The last Max-Age (§5.6.2), already as a time.
    var maxAge: CookieTime?
    /// The last Expires that is a date (§5.6.1).
    var expires: CookieTime?
    /// Where the last Domain is (§5.6.3), without a leading dot.
    var domain: Range<Int> = 0..<0
    /// Where the last Path is (§5.6.4); empty for one that does not begin with a slash: the default-path holds.
    var path: Range<Int> = 0..<0
    /// Secure (§5.6.5).
    var isSecure = false
    /// HttpOnly (§5.6.6).
    var isHTTPOnly = false
    /// The last SameSite (§5.6.7).
    var sameSite = Cookie.SameSite.unspecified
    /// Partitioned (draft-cutler-httpbis-partitioned-cookies).
    var isPartitioned = false

    /// When the cookie expires (§5.7 step 6): Max-Age before Expires; nil for a session cookie.
    var expiry: CookieTime? { maxAge ?? expires }
}

/// Reads Set-Cookie header fields (RFC 6265bis §5.6) in time linear to their size.
struct SetCookieParser {
    /// The most octets that name and value have together (§5.6 step 5).
    static let maximumPairLength = 4096
    /// The most octets of an attribute's value; a longer attribute is ignored (§5.6, attributes, step 6).
    static let maximumAttributeLength = 1024

    /// No cookie lives longer (§5.5).
    let ageLimit: Int64
    /// The time of reception.
    let now: CookieTime

    /// Reads one field.
    func parse(_ field: Octets) throws(CookieRejection) -> ParsedSetCookie {
        // Step 1.
        guard !field.hasForbiddenControl else { throw .controlCharacter }
        var cookie = ParsedSetCookie()
        // Steps 2 to 4.
        var end = field.first(.semicolon, in: 0..<field.count) ?? field.count
        if let equals = field.first(.equals, in: 0..<end) {
            cookie.name = field.trimmed(0..<equals)
            cookie.value = field.trimmed((equals + 1)..<end)
        } else {
            cookie.value = field.trimmed(0..<end)
        }
        // Step 5, and §5.7 step 2.
        guard cookie.name.count + cookie.value.count <= Self.maximumPairLength else { throw .tooLarge }
        guard !cookie.name.isEmpty || !cookie.value.isEmpty else { throw .empty }
        while end < field.count {
            let start = end + 1
            end = field.first(.semicolon, in: start..<field.count) ?? field.count
            attribute(field, start..<end, into: &cookie)
        }
        return cookie
    }

    private func attribute(_ field: Octets, _ range: Range<Int>, into cookie: inout ParsedSetCookie) {
        // Attributes, steps 4 to 6.
        let equals = field.first(.equals, in: range)
        let name = field.part(field.trimmed(range.lowerBound..<(equals ?? range.upperBound)))
        let value = equals.map { field.trimmed(($0 + 1)..<range.upperBound) } ?? range.upperBound..<range.upperBound
        guard value.count <= Self.maximumAttributeLength else { return }
        // Step 7. The length tells the attributes apart before a letter is compared.
        switch name.count {
        case 4 where name.isCaseInsensitively("path"):
            // §5.6.4; the newest tests of the platform want the attribute itself to begin with a slash.
            cookie.path = value.first.map { field[$0] == .slash } == true ? value : value.lowerBound..<value.lowerBound
        case 6 where name.isCaseInsensitively("domain"):
            cookie.domain = value.first.map { field[$0] == .dot } == true ? value.dropFirst() : value
        case 6 where name.isCaseInsensitively("secure"):
            cookie.isSecure = true
        case 7 where name.isCaseInsensitively("expires"):
            if let date = CookieDateParser.parse(field.part(value)) {
                cookie.expires = min(date, now.advanced(bySeconds: ageLimit))
            }
        case 7 where name.isCaseInsensitively("max-age"):
            if let time = maxAge(field.part(value)) { cookie.maxAge = time }
        case 8 where name.isCaseInsensitively("httponly"):
            cookie.isHTTPOnly = true
        case 8 where name.isCaseInsensitively("samesite"):
            cookie.sameSite = Cookie.SameSite(attribute: field.part(value))
        case 11 where name.isCaseInsensitively("partitioned"):
            cookie.isPartitioned = true
        default:
            break
        }
    }

    /// §5.6.2; nil where the attribute is to be ignored.
    private func maxAge(_ value: Octets) -> CookieTime? {
        guard let first = value.first else { return nil }
        let digits = value.dropFirst(first == 0x2d ? 1 : 0)
        guard !digits.isEmpty, digits.allSatisfy(\.isDigit) else { return nil }
        // More digits than a number has are more than the limit.
        let seconds = digits.reduce(Int64(0)) { $0 > ageLimit ? $0 : $0 * 10 + Int64($1 - 0x30) }
        guard first != 0x2d, seconds > 0 else { return .distantPast }
        return now.advanced(bySeconds: min(seconds, ageLimit))
    }
}
