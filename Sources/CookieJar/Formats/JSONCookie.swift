// SPDX-License-Identifier: Apache-2.0

import Names

/// A cookie in the format of ``CookieJSON``.
struct JSONCookie: Codable {
    let cookie: Cookie
    /// Whether to write the format of Playwright's `storageState`, which requires all members and a leading dot in the domain of
    /// a cookie for subdomains.
    var isOfStorageState = false

    init(_ cookie: Cookie, isOfStorageState: Bool = false) {
        self.cookie = cookie
        self.isOfStorageState = isOfStorageState
    }

    init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: JSONKey.self)
        // Cookie Quick Manager writes the domain as a URL: `https://.example.com/`.
        let host = object.text("Host raw")?.split(separator: "/").last.map(String.init)
        guard let domain = object.text("domain", "host") ?? host else {
            throw CookieJSONProblem(reason: "member domain is missing")
        }
        let hasDot = domain.hasPrefix(".")
        let isSession = object.flag("session") ?? false
        let isSecure = object.flag("secure", "Send for raw") ?? false
        var cookie = Cookie(
            nameOctets: try Self.octets("name", "Name raw", of: object),
            valueOctets: try Self.octets("value", "Content raw", of: object),
            domain: hasDot ? String(domain.dropFirst()) : domain,
            isHostOnly: object.flag("hostOnly", "This domain only raw") ?? !hasDot,
            path: object.text("path", "Path raw") ?? "/",
            expires: isSession ? nil : try Self.expiry(of: object),
            isSecure: isSecure,
            isHTTPOnly: object.flag("httpOnly", "HTTP only raw") ?? false,
            sameSite: Self.sameSite(object.text("sameSite", "SameSite raw") ?? "", isSecure: isSecure)
        )
        if let created = object.value("created", as: Double.self) {
            cookie.created = CookieTime(secondsSince1970: created)
        }
        if let accessed = object.value("lastAccessed", as: Double.self) {
            cookie.lastAccessed = CookieTime(secondsSince1970: accessed)
        }
        // Reads our own member, or the partition key of a browser: a site, or an object with the site.
        let key = object.object("partitionKey")
        if let text = object.text("partition", "partitionKey") ?? key?.text("topLevelSite", "sourceOrigin") {
            guard let partition = Site(text) else {
                throw CookieJSONProblem(reason: "partition \"\(text)\" is not a site")
            }
            cookie.partition = partition
        }
        self.cookie = cookie
    }

    /// Reads seconds since 1970 or an ISO 8601 date. Nil for a session cookie.
    private static func expiry(of object: KeyedDecodingContainer<JSONKey>) throws -> CookieTime? {
        for key in ["expires", "expirationDate", "expiry", "Expires raw"] as [JSONKey] {
            if let text = object.text(key), !text.isEmpty, Double(text) == nil {
                guard let date = CookieTime(iso8601: text) else {
                    throw CookieJSONProblem(reason: "expiry \"\(text)\" is not a date")
                }
                return date
            }
            guard let seconds = object.value(key, as: Double.self) ?? object.text(key).flatMap(Double.init) else {
                continue
            }
            // Browser drivers write -1 for a session cookie, and Cookie Quick Manager writes 0.
            return seconds < 0 || (seconds == 0 && key.stringValue == "Expires raw")
                ? nil : CookieTime(secondsSince1970: seconds)
        }
        return nil
    }

    private static func octets(
        _ name: String,
        _ other: JSONKey,
        of object: KeyedDecodingContainer<JSONKey>
    ) throws -> [UInt8] {
        let octetsKey = JSONKey(stringLiteral: name + "Octets")
        if object.contains(octetsKey) {
            guard let octets = object.value(octetsKey, as: [UInt8].self) else {
                throw CookieJSONProblem(reason: "\(name)Octets is not an array of octets")
            }
            return octets
        }
        guard let text = object.text(JSONKey(stringLiteral: name), other) else {
            throw CookieJSONProblem(reason: "member \(name) is missing")
        }
        return Array(text.utf8)
    }

    private static func sameSite(_ text: String, isSecure: Bool) -> Cookie.SameSite {
        switch text {
        // Extensions and Playwright write this also for a cookie without the attribute in Firefox. SameSite=None requires Secure.
        case "no_restriction", "None": isSecure ? .none : .unspecified
        default: Cookie.SameSite(attribute: Array(text.utf8))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: JSONKey.self)
        for (key, octets) in [("name", cookie.nameOctets), ("value", cookie.valueOctets)] {
            if let text = String(validUTF8: octets) {
                try object.encode(text, forKey: JSONKey(stringLiteral: key))
            } else {
                try object.encode(octets, forKey: JSONKey(stringLiteral: key + "Octets"))
            }
        }
        try object.encode(cookie.path, forKey: "path")
        try object.encode(cookie.isSecure, forKey: "secure")
        try object.encode(cookie.isHTTPOnly, forKey: "httpOnly")
        if isOfStorageState {
            try object.encode(cookie.isForOneHost ? cookie.domain : ".\(cookie.domain)", forKey: "domain")
            // Readers take zero and negative values as a session cookie.
            try object.encode(cookie.expires.map { max(1, $0.secondsSince1970) } ?? -1, forKey: "expires")
            // Browsers enforce Lax if the attribute is absent.
            try object.encode(cookie.sameSite.name ?? "Lax", forKey: "sameSite")
            try object.encodeIfPresent(cookie.partition?.description, forKey: "partitionKey")
            return
        }
        try object.encode(cookie.domain, forKey: "domain")
        try object.encode(cookie.isHostOnly, forKey: "hostOnly")
        try object.encodeIfPresent(cookie.expires?.secondsSince1970, forKey: "expires")
        if cookie.created != .distantPast { try object.encode(cookie.created.secondsSince1970, forKey: "created") }
        if cookie.lastAccessed != .distantPast {
            try object.encode(cookie.lastAccessed.secondsSince1970, forKey: "lastAccessed")
        }
        try object.encodeIfPresent(cookie.sameSite.name?.lowercased(), forKey: "sameSite")
        try object.encodeIfPresent(cookie.partition?.description, forKey: "partition")
    }
}
