// SPDX-License-Identifier: Apache-2.0

/// The `cookies.txt` of Netscape, as curl, wget and yt-dlp read and write it.
///
/// A line is a cookie: domain (an IPv6 address without brackets), whether hosts below it get it, path, Secure, expiry in
/// seconds since 1970 (0, or nothing as Python writes it: a session cookie), name and value, separated by tabs. `#HttpOnly_`
/// before the domain marks an HttpOnly cookie. The format has no place for SameSite, Partitioned and the times of creation
/// and access. Cookies with a tab in the name or path are left out when a file is written.
public enum NetscapeCookieFile {
    private static let httpOnlyMark = "#httponly_"

    /// Reads a file. Lines that are not cookies are reported, and the rest is read.
    public static func read(_ octets: [UInt8]) -> CookieImport {
        var result = CookieImport()
        octets[...].forEachLine { line, number in read(line: line, number: number, into: &result) }
        return result
    }

    static func read(line: ArraySlice<UInt8>, number: Int, into result: inout CookieImport) {
        let isHTTPOnly = line.startsCaseInsensitively(with: httpOnlyMark)
        let line = isHTTPOnly ? line.dropFirst(httpOnlyMark.utf8.count) : line
        guard !line.isEmpty, isHTTPOnly || line.first != UInt8(ascii: "#") else { return }
        // A value may hold tabs, so what follows the sixth is one field.
        var fields = line.split(separator: .tab, maxSplits: 6, omittingEmptySubsequences: false)
        if fields.count < 6 {
            // Copying from a web page or a terminal turns tabs into spaces.
            let words = line.split(maxSplits: 6, whereSeparator: \.isWhitespace)
            if words.count == 7 { fields = words }
        }
        guard fields.count >= 6 else {
            if line.allSatisfy(\.isWhitespace) { return }
            return result.skip(line: number, "\(fields.count) fields where a cookie has 7, separated by tabs")
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

    /// The domain as a jar has it: without a leading dot, with brackets around an IPv6 address, and without the port that
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

    /// Writes a file that other programs read too.
    public static func write(_ cookies: some Sequence<Cookie>) -> [UInt8] {
        var octets = Array("# Netscape HTTP Cookie File\n\n".utf8)
        for cookie in cookies where !cookie.nameOctets.contains(.tab) && !cookie.path.utf8.contains(.tab) {
            // A session cookie has expiry 0, so one that expired before 1970 must not round to it.
            let expires = cookie.expires.map { max(1, $0.microseconds / 1_000_000) } ?? 0
            // Other programs compare it with a host that has no brackets.
            let domain = cookie.domain.hasPrefix("[") ? String(cookie.domain.dropFirst().dropLast()) : cookie.domain
            let fields = [
                (cookie.isHTTPOnly ? "#HttpOnly_" : "") + (cookie.isHostOnly ? "" : ".") + domain,
                cookie.isHostOnly ? "FALSE" : "TRUE",
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
