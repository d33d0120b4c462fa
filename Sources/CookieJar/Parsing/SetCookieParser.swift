// SPDX-License-Identifier: Apache-2.0

/// The parts of one Set-Cookie header field (RFC 6265bis §5.6), as ranges in the field.
struct ParsedSetCookie {
    /// The name. Empty for a nameless cookie.
    var name = 0..<0
    var value = 0..<0
    /// The expiry time of the last Max-Age (§5.6.2).
    var maxAge: CookieTime?
    /// The last Expires with a valid date (§5.6.1).
    var expires: CookieTime?
    /// The last Domain (§5.6.3), without a leading dot.
    var domain = 0..<0
    /// The last Path (§5.6.4). Empty if it does not start with a slash, so that the default-path applies.
    var path = 0..<0
    /// Secure (§5.6.5).
    var isSecure = false
    /// HttpOnly (§5.6.6).
    var isHTTPOnly = false
    /// The last SameSite (§5.6.7).
    var sameSite = Cookie.SameSite.unspecified
    /// Partitioned (draft-cutler-httpbis-partitioned-cookies).
    var isPartitioned = false

    /// When the cookie expires (§5.7 step 6). Max-Age takes precedence over Expires. Nil for a session cookie.
    var expiry: CookieTime? { maxAge ?? expires }
}

/// Parses Set-Cookie header fields (RFC 6265bis §5.6) in linear time.
struct SetCookieParser {
    /// The maximum length of name and value together, in octets (§5.6 step 5).
    static let maxPairLength = 4096
    /// The maximum length of an attribute's value, in octets. A longer attribute is ignored (§5.6, attributes, step 6).
    static let maxAttributeLength = 1024

    private enum Attribute: String, CaseIterable {
        case path, domain, secure, expires, maxAge = "max-age", httpOnly = "httponly", sameSite = "samesite",
            partitioned

        static let names = allCases.map { (name: Array($0.rawValue.utf8), attribute: $0) }

        init?(_ field: [UInt8], _ name: Range<Int>) {
            guard let known = Self.names.first(where: { field.isCaseInsensitively($0.name, at: name) }) else {
                return nil
            }
            self = known.attribute
        }
    }

    /// The maximum age of a cookie, in seconds (§5.5).
    let ageLimit: Int64
    /// The time when the field was received.
    let now: CookieTime

    func parse(_ field: [UInt8]) throws(CookieRejection) -> ParsedSetCookie {
        // Step 1.
        guard !field.hasForbiddenControl else { throw .controlCharacter }
        var cookie = ParsedSetCookie()
        // Steps 2 to 4.
        var end = field.first(.semicolon, in: field.indices) ?? field.count
        if let equals = field.first(.equals, in: 0..<end) {
            cookie.name = field.trimmed(0..<equals)
            cookie.value = field.trimmed((equals + 1)..<end)
        } else {
            cookie.value = field.trimmed(0..<end)
        }
        // Step 5, and §5.7 step 2.
        guard cookie.name.count + cookie.value.count <= Self.maxPairLength else { throw .tooLarge }
        guard !cookie.name.isEmpty || !cookie.value.isEmpty else { throw .empty }
        while end < field.count {
            let start = end + 1
            end = field.first(.semicolon, in: start..<field.count) ?? field.count
            readAttribute(field, start..<end, into: &cookie)
        }
        return cookie
    }

    private func readAttribute(_ field: [UInt8], _ range: Range<Int>, into cookie: inout ParsedSetCookie) {
        // Attributes, steps 4 to 6.
        let equals = field.first(.equals, in: range) ?? range.upperBound
        let value = field.trimmed(min(equals + 1, range.upperBound)..<range.upperBound)
        guard value.count <= Self.maxAttributeLength else { return }
        let first = value.isEmpty ? nil : field[value.lowerBound]
        // Step 7.
        switch Attribute(field, field.trimmed(range.lowerBound..<equals)) {
        case .path:
            // §5.6.4. The latest web platform tests require the attribute itself to start with a slash.
            cookie.path = first == .slash ? value : 0..<0
        case .domain:
            cookie.domain = first == .dot ? value.dropFirst() : value
        case .secure:
            cookie.isSecure = true
        case .expires:
            if let date = CookieDateParser.parse(field, value) {
                cookie.expires = min(date, now.advanced(bySeconds: ageLimit))
            }
        case .maxAge:
            if let time = maxAge(field[value]) { cookie.maxAge = time }
        case .httpOnly:
            cookie.isHTTPOnly = true
        case .sameSite:
            cookie.sameSite = Cookie.SameSite(attribute: field[value])
        case .partitioned:
            cookie.isPartitioned = true
        case nil:
            break
        }
    }

    /// Reads a Max-Age attribute (§5.6.2). Nil if the attribute must be ignored.
    private func maxAge(_ value: ArraySlice<UInt8>) -> CookieTime? {
        let isNegative = value.first == 0x2d
        let digits = isNegative ? value.dropFirst() : value
        guard !digits.isEmpty, digits.allSatisfy(\.isDigit) else { return nil }
        // A number that does not fit in Int64 exceeds every limit.
        let seconds = Int64(String(decoding: digits, as: UTF8.self)) ?? .max
        guard !isNegative, seconds > 0 else { return .distantPast }
        return now.advanced(bySeconds: min(seconds, ageLimit))
    }
}
