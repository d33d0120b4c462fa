// SPDX-License-Identifier: Apache-2.0

import CookieJar
import GRDB
import Names

/// Reads the table `moz_cookies` of Firefox's `cookies.sqlite` in all versions, including the old one of libsoup.
struct FirefoxCookies {
    private let table: BrowserTable
    private let version: Int
    private let container: Int

    init(_ table: BrowserTable, version: Int, container: Int) {
        self.table = table
        self.version = version
        self.container = container
    }

    private static let columns = [
        "originAttributes", "host", "path", "name", "value", "expiry", "creationTime", "lastAccessed|lastAccess",
        "isSecure", "isHttpOnly", "sameSite", "rawSameSite",
    ]

    func read(_ db: Database) throws -> CookieImport {
        var result = CookieImport()
        try table.forEachRow(db, columns: Self.columns, orderedBy: "creationTime") { row, number in
            let origin = OriginAttributes(row.text() ?? "")
            guard let origin else { return result.skip(line: number, "its originAttributes are not understood") }
            guard origin.isOrdinary, origin.container == container else { return }
            guard let cookie = cookie(&row, origin) else {
                return result.skip(line: number, "a column is missing or of another type")
            }
            result.add(cookie, line: number)
        }
        return result
    }

    private func cookie(_ row: inout RowReader, _ origin: OriginAttributes) -> Cookie? {
        guard let host = row.text(), let path = row.text(), let name = row.octets(), let value = row.octets(),
            let expiry = row.integer(), let created = row.optionalInteger(), let accessed = row.optionalInteger(),
            let isSecure = row.integer(), let isHTTPOnly = row.integer()
        else { return nil }
        let (sameSite, rawSameSite) = (row.integer(), row.integer())
        var cookie = Cookie(nameOctets: name, valueOctets: value, domain: host, path: path)
        cookie.setScope(host)
        // Seconds up to version 15, milliseconds from version 16.
        cookie.expires = CookieTime(expiry, unit: version >= 16 ? 1000 : 1_000_000)
        cookie.created = created.map { CookieTime(microseconds: $0) } ?? .distantPast
        cookie.lastAccessed = accessed.map { CookieTime(microseconds: $0) } ?? cookie.created
        cookie.isSecure = isSecure != 0
        cookie.isHTTPOnly = isHTTPOnly != 0
        cookie.sameSite = Self.sameSite(sameSite, raw: rawSameSite, isSecure: cookie.isSecure)
        cookie.partition = origin.partition
        return cookie
    }

    /// 0 none, 1 lax, 2 strict, 256 absent. Up to version 14, absent is 0, or 1 with a `rawSameSite` of 0.
    private static func sameSite(_ value: Int64?, raw: Int64?, isSecure: Bool) -> Cookie.SameSite {
        switch value {
        // SameSite=None requires Secure.
        case 0: isSecure ? .none : .unspecified
        case 1: raw == 0 ? .unspecified : .lax
        case 2: .strict
        default: .unspecified
        }
    }
}

/// Firefox's origin attributes, such as `^userContextId=1&partitionKey=%28https%2Cexample.com%29`, which separate cookies of
/// one name and host.
struct OriginAttributes: Hashable, Sendable {
    /// The container; 0 for none.
    private(set) var container = 0
    /// The top-level site of a partitioned cookie; nil otherwise.
    private(set) var partition: Site?
    /// Whether the cookie is from normal browsing, not from a private window or an isolated first party.
    private(set) var isOrdinary = true

    /// Parses the text; nil if it is invalid.
    init?(_ text: String) {
        guard !text.isEmpty else { return }
        guard text.first == "^" else { return nil }
        for part in text.dropFirst().split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1)
            let value = Self.decoded(pair.count > 1 ? pair[1] : "")
            switch pair.first {
            case "userContextId":
                guard let number = Int(value) else { return nil }
                container = number
            case "partitionKey":
                guard let site = Self.site(value) else { return nil }
                partition = site
            case "privateBrowsingId" where value == "0", "addonId", "appId", "inBrowser": break
            default: isOrdinary = false
            }
        }
    }

    /// Returns the site of `(https,example.com)`, `(https,example.com,8443)` or `(https,example.com,f)`. A port is not part of
    /// a site. `f` marks a cross-site frame between the page and the cookie; it does not change the site.
    private static func site(_ text: String) -> Site? {
        guard text.first == "(", text.last == ")" else { return Site("https://\(text)") }
        let fields = text.dropFirst().dropLast().split(separator: ",")
        guard fields.count >= 2 else { return nil }
        return Site("\(fields[0])://\(fields[1])")
    }

    /// Decodes percent-encoding. Encoded plus signs become colons; a site contains no plus signs.
    private static func decoded(_ text: some StringProtocol) -> String {
        var octets: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let octet = rest.popFirst() {
            let digits = octet == UInt8(ascii: "%") ? rest.prefix(2).compactMap(PercentEncoding.hexValue) : []
            if digits.count == 2 {
                let decoded = digits[0] << 4 | digits[1]
                octets.append(decoded == UInt8(ascii: "+") ? UInt8(ascii: ":") : decoded)
                rest = rest.dropFirst(2)
            } else {
                octets.append(octet)
            }
        }
        return String(decoding: octets, as: UTF8.self)
    }
}

extension Cookie {
    /// Sets the domain and the host-only flag from a browser's host column: a leading dot marks a cookie for subdomains too,
    /// and IPv6 addresses have no brackets.
    mutating func setScope(_ host: String) {
        isHostOnly = !host.hasPrefix(".")
        domain = isHostOnly ? host : String(host.dropFirst())
        if domain.contains(":"), !domain.hasPrefix("[") { domain = "[\(domain)]" }
    }
}
