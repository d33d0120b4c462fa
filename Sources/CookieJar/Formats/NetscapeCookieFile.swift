// SPDX-License-Identifier: Apache-2.0

import Names

/// Netscape's `cookies.txt`, as curl, wget and yt-dlp read and write it.
///
/// Each line holds one cookie as fields separated by tabs: the domain (an IPv6 address without brackets), whether subdomains
/// match, path, Secure, expiry in seconds since 1970, name and value. A session cookie has expiry 0, or an empty expiry in files
/// from Python. `#HttpOnly_` before the domain marks an HttpOnly cookie. The format cannot represent SameSite, Partitioned, and
/// the times of creation and access. When writing, cookies with a tab in the name or path are omitted.
package enum NetscapeCookieFile {
    private static let httpOnlyMark = "#httponly_"

    /// Reads a file. Reports lines that are not cookies and reads the rest.
    package static func read(_ octets: [UInt8]) -> CookieImport {
        var result = CookieImport()
        octets[...].forEachLine { line, number in read(line: line, number: number, into: &result) }
        return result
    }

    static func read(line: ArraySlice<UInt8>, number: Int, into result: inout CookieImport) {
        let isHTTPOnly = line.startsCaseInsensitively(with: httpOnlyMark)
        let line = isHTTPOnly ? line.dropFirst(httpOnlyMark.utf8.count) : line
        guard !line.isEmpty, isHTTPOnly || line.first != UInt8(ascii: "#") else { return }
        // A value may contain tabs, so the part after the sixth tab is one field.
        var fields = line.split(separator: .tab, maxSplits: 6, omittingEmptySubsequences: false)
        if fields.count < 6 {
            // Copying from a web page or a terminal replaces tabs by spaces.
            let words = line.split(maxSplits: 6, whereSeparator: \.isWhitespace)
            if words.count == 7 { fields = words }
        }
        guard fields.count >= 6 else {
            if line.allSatisfy(\.isWhitespace) { return }
            return result.skip(line: number, "\(fields.count) fields instead of 7, separated by tabs")
        }
        let text = { (index: Int) in String(decoding: fields[index], as: UTF8.self) }
        guard let isForSubdomains = boolean(text(1)), let isSecure = boolean(text(3)) else {
            return result.skip(line: number, "fields 2 and 4 must be TRUE or FALSE")
        }
        guard let expires = fields[4].isEmpty ? 0 : Double(text(4)), !expires.isNaN else {
            return result.skip(line: number, "expiry \"\(text(4))\" is not a number of seconds")
        }
        result.add(
            Cookie(
                nameOctets: Array(fields[5]),
                valueOctets: fields.count > 6 ? Array(fields[6]) : [],
                domain: domain(text(0)),
                isHostOnly: !isForSubdomains,
                path: text(2),
                expires: expires == 0 ? nil : CookieTime(secondsSince1970: expires),
                isSecure: isSecure,
                isHTTPOnly: isHTTPOnly
            ),
            line: number
        )
    }

    /// The domain in the form of a jar: without a leading dot, with brackets around an IPv6 address, and without the port that
    /// wget writes.
    private static func domain(_ text: String) -> String {
        let domain = text.hasPrefix(".") ? text.dropFirst() : text[...]
        guard let colon = domain.firstIndex(of: ":"), !domain.hasPrefix("[") else { return String(domain) }
        let port = domain[domain.index(after: colon)...]
        return port.contains(":") || UInt16(port) == nil ? "[\(domain)]" : String(domain[..<colon])
    }

    private static func boolean(_ field: String) -> Bool? {
        switch field.lowercased() {
        case "true": true
        case "false": false
        default: nil
        }
    }

    /// Writes a file that other programs can read.
    package static func write(_ cookies: some Sequence<Cookie>) -> [UInt8] {
        var octets = Array("# Netscape HTTP Cookie File\n\n".utf8)
        for cookie in cookies where !cookie.nameOctets.contains(.tab) && !cookie.path.utf8.contains(.tab) {
            // Expiry 0 means a session cookie, so a time before 1970 must not become 0.
            let expires = cookie.expires.map { max(1, $0.microseconds / 1_000_000) } ?? 0
            // Other programs compare the domain with a host without brackets.
            let domain = cookie.domain.hasPrefix("[") ? String(cookie.domain.dropFirst().dropLast()) : cookie.domain
            let fields = [
                (cookie.isHTTPOnly ? "#HttpOnly_" : "") + (cookie.isForOneHost ? "" : ".") + domain,
                cookie.isForOneHost ? "FALSE" : "TRUE",
                cookie.path,
                cookie.isSecure ? "TRUE" : "FALSE",
                String(expires),
            ]
            for field in fields { octets += Array(field.utf8) + [.tab] }
            octets += cookie.nameOctets + [.tab] + cookie.valueOctets + [0x0a]
        }
        return octets
    }
}
