// SPDX-License-Identifier: Apache-2.0

/// The parts of a URL as written, for the variables `url.…` and `urle.…` of `-w`. It also splits URLs of other schemes.
struct URLParts: Hashable, Sendable {
    private(set) var scheme: String?
    private(set) var user: String?
    private(set) var password: String?
    private(set) var host: String?
    private(set) var port: String?
    private(set) var path: String?
    private(set) var query: String?
    private(set) var fragment: String?
    /// The zone of an IPv6 address.
    private(set) var zone: String?

    /// Splits a URL. A URL without a scheme counts as `http`. A text with blanks or control characters has no parts.
    init(_ text: String) {
        guard text.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7f }) else { return }
        var rest = text[...]
        if let mark = rest.firstRange(of: "://"), text.hasScheme {
            scheme = rest[..<mark.lowerBound].lowercased()
            rest = rest[mark.upperBound...]
        } else {
            scheme = "http"
        }
        if let hash = rest.firstIndex(of: "#") {
            fragment = String(rest[rest.index(after: hash)...])
            rest = rest[..<hash]
        }
        if let mark = rest.firstIndex(of: "?") {
            query = String(rest[rest.index(after: mark)...])
            rest = rest[..<mark]
        }
        let end = rest.firstIndex(of: "/") ?? rest.endIndex
        path = end == rest.endIndex ? "/" : String(rest[end...])
        readAuthority(rest[..<end])
        if port == nil { port = scheme == "http" ? "80" : scheme == "https" ? "443" : nil }
    }

    private mutating func readAuthority(_ text: Substring) {
        var place = text
        if let at = text.lastIndex(of: "@") {
            let login = text[..<at]
            let colon = login.firstIndex(of: ":") ?? login.endIndex
            user = String(login[..<colon])
            if colon < login.endIndex { password = String(login[login.index(after: colon)...]) }
            place = text[text.index(after: at)...]
        }
        let bracket = place.lastIndex(of: "]") ?? place.startIndex
        if let colon = place[bracket...].lastIndex(of: ":") {
            port = String(place[place.index(after: colon)...])
            place = place[..<colon]
        }
        if place.hasPrefix("["), let percent = place.firstIndex(of: "%") {
            let name = place[place.index(after: percent)...].dropLast()
            zone = String(name.hasPrefix("25") && name.count > 2 ? name.dropFirst(2) : name)
            host = place[..<percent] + "]"
        } else {
            host = String(place)
        }
    }

    /// Returns the part that a variable names after `url.` or `urle.`; nil if there is none.
    subscript(name: Substring) -> String? {
        switch name {
        case "scheme": scheme
        case "user": user
        case "password": password
        case "host": host
        case "port": port
        case "path": path
        case "query": query
        case "fragment": fragment
        case "zoneid": zone
        default: nil
        }
    }
}
