// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

/// The cookies of an HTTP Archive (HAR 1.2), as saved by the network panel of a browser.
///
/// The Set-Cookie fields are stored in file order, each at the time of its entry, under the rules of RFC 6265bis. The result is
/// the same as in a browser. For entries that have only `cookies`, those are stored. Cookies from before the first entry are read
/// from the requests, where Chromium writes all their attributes.
struct HARCookies: Decodable {
    private let dialect: Dialect
    private let entries: [DecodingResult<Entry>]

    init(from decoder: any Decoder) throws {
        let log = try decoder.container(keyedBy: JSONKey.self)
        dialect = Dialect(log.object("creator")?.text("name") ?? "")
        entries = log.value("entries") ?? []
    }

    private struct Entry: Decodable {
        let url: String
        let time: CookieTime?
        let requestCookies: [DecodingResult<JSONCookie>]
        let headers: [DecodingResult<NamedValue>]
        let responseCookies: [DecodingResult<ResponseCookie>]

        init(from decoder: any Decoder) throws {
            let entry = try decoder.container(keyedBy: JSONKey.self)
            let (request, response) = (entry.object("request"), entry.object("response"))
            url = request?.text("url") ?? ""
            time = entry.text("startedDateTime").flatMap(CookieTime.init(iso8601:))
            requestCookies = request?.value("cookies") ?? []
            headers = response?.value("headers") ?? []
            responseCookies = response?.value("cookies") ?? []
        }

        /// The Set-Cookie fields of the response, or fields built from its cookies.
        func fields(_ dialect: Dialect) -> [String] {
            let fields = headers.compactMap { try? $0.result.get() }.filter { $0.name.lowercased() == "set-cookie" }
            guard fields.isEmpty else { return fields.flatMap { dialect.fields($0.value) } }
            return responseCookies.compactMap { try? $0.result.get().field }
        }
    }

    private struct NamedValue: Decodable {
        let name: String
        let value: String
    }

    private struct ResponseCookie: Decodable {
        /// A Set-Cookie field that sets the cookie.
        let field: String

        init(from decoder: any Decoder) throws {
            let cookie = try decoder.container(keyedBy: JSONKey.self)
            guard let name = cookie.text("name"), let value = cookie.text("value") else {
                throw CookieJSONProblem(reason: "member name or value is missing")
            }
            var field = "\(name)=\(value)"
            if let path = cookie.text("path") { field += "; Path=\(path)" }
            if let domain = cookie.text("domain"), domain.hasPrefix(".") { field += "; Domain=\(domain)" }
            if let date = cookie.text("expires").flatMap(CookieTime.init(iso8601:)) {
                field += "; Expires=\(date.httpDate)"
            }
            if cookie.flag("secure") == true { field += "; Secure" }
            if cookie.flag("httpOnly") == true { field += "; HttpOnly" }
            if let sameSite = cookie.text("sameSite") { field += "; SameSite=\(sameSite)" }
            self.field = field
        }
    }

    /// The way in which a browser writes the fields of a response.
    private enum Dialect {
        case standard
        /// Safari joins fields with the same name by commas.
        case joined
        /// Chromium writes one character for each octet.
        case octets

        init(_ creator: String) {
            self = creator.hasPrefix("WebKit") ? .joined : creator == "WebInspector" ? .octets : .standard
        }

        func fields(_ value: String) -> [String] {
            // Some browsers join the fields of a response by line feeds. U+0085 does not end a line here, because it may be an
            // octet.
            let lines = value.split { $0 == "\n" || $0 == "\r\n" }.map(String.init)
            switch self {
            case .standard: return lines
            case .joined: return lines.flatMap { SetCookieSplitter.split($0) }
            case .octets:
                return lines.map { line in
                    let octets = line.unicodeScalars.compactMap { UInt8(exactly: $0.value) }
                    let isWhole = octets.count == line.unicodeScalars.count
                    return isWhole ? String(validUTF8: octets) ?? line : line
                }
            }
        }
    }

    /// The cookies that a browser would have in the end. Reports cookies that were evicted because their domain was full.
    func cookies(now: CookieTime) -> CookieImport {
        var result = CookieImport()
        var configuration = CookieJarConfiguration()
        configuration.maxCookies = .max
        let jar = CookieJar(configuration: configuration)
        jar.state.withLockedValue { $0.evicted = [] }
        var stored: [UInt64: CookiePlace] = [:]
        let note = { (place: CookiePlace) in stored[jar.state.withLockedValue { $0.lastStored }] = place }
        var lines: [CookiePlace: Int] = [:]
        // The file is ordered by the start of requests, so a later request may carry an older cookie.
        var answered: Set<CookiePlace> = []
        for (index, entry) in entries.enumerated() {
            let line = index + 1
            let entry = try? entry.result.get()
            guard let entry, let url = try? HTTPURL(entry.url) else {
                // Pages load many `data:` URLs and similar ones, which have no cookies.
                let scheme = entry?.url.prefix { $0 != ":" } ?? ""
                if scheme.isEmpty || scheme == entry?.url[...] || Scheme(scheme) != nil {
                    result.skip(line: line, "the request has no http or https URL")
                }
                continue
            }
            let time = entry.time ?? now
            for case .success(let found) in entry.requestCookies.map(\.result) {
                var cookie = found.cookie
                guard !answered.contains(CookiePlace(cookie)) else { continue }
                cookie.created = time
                switch jar.insert(cookie, now: time) {
                case .kept, .replaced: note(CookiePlace(cookie))
                case .deleted, .rejected: break
                }
                lines[CookiePlace(cookie)] = line
            }
            for field in entry.fields(dialect) {
                let cookie = try? Cookie(setCookie: field, from: url, now: time)
                if case .rejected(let reason) = jar.store(field, from: url, now: time) {
                    result.skip(line: line, reason.description)
                } else if let place = cookie.map(CookiePlace.init) {
                    lines[place] = line
                    answered.insert(place)
                    note(place)
                }
            }
        }
        let found = jar.allCookies(now: now).sorted { $0.created < $1.created }
        for cookie in found { result.add(cookie, line: lines[CookiePlace(cookie)] ?? 0) }
        let evicted = jar.state.withLockedValue { $0.evicted ?? [] }.compactMap { stored[$0] }
        for line in Set(evicted).subtracting(found.map(CookiePlace.init)).map({ lines[$0] ?? 0 }).sorted() {
            result.skip(line: line, CookieRejection.noRoom.description)
        }
        if lines.isEmpty, result.problems.isEmpty {
            result.skip(line: 1, "no entry has a cookie; browsers omit cookies unless sensitive data is included")
        }
        return result
    }
}
