// SPDX-License-Identifier: Apache-2.0

import Names

/// The cookies of an HTTP Archive (HAR 1.2), as a browser's network panel saves it.
///
/// The Set-Cookie fields are stored in the order of the file, each at the time of its entry, by the rules of RFC 6265bis: what
/// is left at the end is what a browser would have. Entries whose fields were left out, but whose `cookies` were not, give
/// those. Cookies that were there before the first entry are taken from the requests, where Chromium writes them whole.
enum HARCookies {
    /// The cookies of a HAR whose `log` this is.
    static func read(_ log: JSONValue, now: CookieTime) -> CookieImport {
        var result = CookieImport()
        let jar = CookieJar()
        var lines: [Cookie.Key: Int] = [:]
        // What requests say of these may be older: they stand in the file by when they began.
        var answered: Set<Cookie.Key> = []
        let dialect = Dialect(log["creator"]?["name"]?.string ?? "")
        for (index, entry) in (log["entries"]?.array ?? []).enumerated() {
            let line = index + 1
            let text = entry["request"]?["url"]?.string ?? ""
            guard let url = try? HTTPURL(text) else {
                // Pages are full of `data:` and the like, which have no cookies.
                if !hasOtherScheme(text) { result.skip(line: line, "the request has no URL of http or https") }
                continue
            }
            let time = entry["startedDateTime"]?.string.flatMap(CookieTime.init(iso8601:)) ?? now
            for value in entry["request"]?["cookies"]?.array ?? [] {
                guard var cookie = try? CookieJSON.cookie(value), !answered.contains(cookie.key) else { continue }
                cookie.created = time
                jar.insert(cookie, now: time)
                lines[cookie.key] = line
            }
            for field in fields(of: entry["response"]).flatMap(dialect.fields) {
                let cookie = try? Cookie.read(field, from: url, now: time).get()
                if case .rejected(let reason) = jar.store(field, from: url, now: time) {
                    result.skip(line: line, reason.description)
                } else if let key = cookie?.key {
                    lines[key] = line
                    answered.insert(key)
                }
            }
        }
        for cookie in jar.allCookies(now: now).sorted(by: { $0.created < $1.created }) {
            result.add(cookie, line: lines[cookie.key] ?? 0)
        }
        if lines.isEmpty, result.problems.isEmpty {
            result.skip(line: 1, "no entry has a cookie; browsers leave them out unless told to save sensitive data")
        }
        return result
    }

    private static func hasOtherScheme(_ url: String) -> Bool {
        guard let colon = url.firstIndex(of: ":") else { return false }
        let scheme = url[..<colon].lowercased()
        return !scheme.isEmpty && scheme.allSatisfy { $0.isLetter || $0.isNumber || "+-.".contains($0) }
            && Scheme(scheme) == nil
    }

    /// How a browser writes the fields of a response.
    private enum Dialect {
        case standard
        /// Safari has no list of fields, but a text for each name.
        case joined
        /// Chromium writes a character for each octet.
        case octets

        init(_ creator: String) {
            self = creator.hasPrefix("WebKit") ? .joined : creator == "WebInspector" ? .octets : .standard
        }

        func fields(_ field: String) -> [String] {
            switch self {
            case .standard: return [field]
            case .joined: return SetCookieSplitter.split(field)
            case .octets:
                let octets = field.unicodeScalars.compactMap { UInt8(exactly: $0.value) }
                let isWhole = octets.count == field.unicodeScalars.count
                return [isWhole ? String(validating: octets, as: UTF8.self) ?? field : field]
            }
        }
    }

    /// The Set-Cookie fields of a response, or fields made of its cookies.
    private static func fields(of response: JSONValue?) -> [String] {
        let headers = (response?["headers"]?.array ?? []).compactMap { header -> [String]? in
            guard header["name"]?.string?.lowercased() == "set-cookie" else { return nil }
            // Some browsers join the fields of a response by line feeds.
            return header["value"]?.string?.split(whereSeparator: \.isNewline).map(String.init)
        }
        guard headers.isEmpty else { return headers.flatMap { $0 } }
        return (response?["cookies"]?.array ?? []).compactMap { cookie in
            guard let name = cookie["name"]?.string, let value = cookie["value"]?.string else { return nil }
            var field = "\(name)=\(value)"
            if let path = cookie["path"]?.string { field += "; Path=\(path)" }
            if let domain = cookie["domain"]?.string, domain.hasPrefix(".") { field += "; Domain=\(domain)" }
            if let date = cookie["expires"]?.string.flatMap(CookieTime.init(iso8601:)) {
                field += "; Expires=\(date.httpDate)"
            }
            if cookie["secure"]?.bool == true { field += "; Secure" }
            if cookie["httpOnly"]?.bool == true { field += "; HttpOnly" }
            if let sameSite = cookie["sameSite"]?.string { field += "; SameSite=\(sameSite)" }
            return field
        }
    }
}

extension Cookie {
    /// What makes two cookies the same one (RFC 6265bis §5.7 step 23).
    struct Key: Hashable {
        let name: [UInt8]
        let domain: String
        let path: String
        let isHostOnly: Bool
        let partition: Site?
    }

    /// What makes this cookie take the place of another one.
    var key: Key {
        Key(name: nameOctets, domain: domain, path: path, isHostOnly: isHostOnly, partition: partition)
    }

    fileprivate static func read(_ field: String, from url: HTTPURL, now: CookieTime) -> Result<Cookie, CookieRejection>
    {
        field.withOctets { read($0, from: url, context: CookieContext(), now: now) }
    }
}

extension CookieTime {
    /// Reads a date and time of ISO 8601 in its common form, `2026-03-01T12:00:00.123Z`; nil for another one.
    init?(iso8601 text: String) {
        // The five parts before the seconds have fixed places.
        let digits = Array(text.utf8)
        let number = { (range: Range<Int>) -> Int? in
            guard range.upperBound <= digits.count, digits[range].allSatisfy(\.isDigit) else { return nil }
            return digits[range].reduce(0) { $0 * 10 + Int($1 - 0x30) }
        }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
            let minute = number(14..<16), let second = number(17..<19), (1...12).contains(month),
            (1...Calendar.days(in: month, of: year)).contains(day), hour < 24, minute < 60, second < 61
        else { return nil }
        var seconds = Calendar.daysSince1970(year: year, month: month, day: day) * 86_400
        seconds += hour * 3600 + minute * 60 + second
        let zone = digits.dropFirst(19).drop { $0 == .dot || $0.isDigit }
        if let sign = zone.first, sign == 0x2b || sign == 0x2d {
            guard let hours = number(zone.startIndex + 1..<zone.startIndex + 3) else { return nil }
            let minutes = number(zone.startIndex + 4..<zone.startIndex + 6) ?? 0
            seconds -= (sign == 0x2b ? 1 : -1) * (hours * 3600 + minutes * 60)
        }
        self.init(microseconds: Int64(seconds) * 1_000_000)
    }
}
