// SPDX-License-Identifier: Apache-2.0

/// Cookies as a JSON array of objects, without loss.
///
/// Members: `name`, `value`, `domain`, `hostOnly`, `path`, `expires` (seconds since 1970, absent for a session cookie),
/// `created`, `lastAccessed`, `secure`, `httpOnly`, `sameSite` (`lax`, `strict`, `none`), `partition`. What is not UTF-8
/// stands in `nameOctets` and `valueOctets` as numbers. What browser extensions and drivers of browsers write is read too:
/// `expirationDate`, `expiry`, `session`, a leading dot of the domain instead of `hostOnly`, `no_restriction`,
/// `partitionKey`, dates of ISO 8601, the array in a member `cookies`, and an HTTP Archive (HAR), whose entries count as lines.
public enum CookieJSON {
    /// Reads a file. Objects that are no cookies are reported by their place from 1 on, and the rest is read.
    public static func read(_ octets: [UInt8], now: CookieTime) -> CookieImport {
        var result = CookieImport()
        do throws(JSONReader.Failure) {
            let value = try octets.withUnsafeBufferPointer { octets throws(JSONReader.Failure) in
                try JSONReader.read(octets)
            }
            if let log = value["log"] { return HARCookies.read(log, now: now) }
            guard let values = value.array ?? value["cookies"]?.array else {
                result.skip(line: 1, "no array of cookies")
                return result
            }
            for (index, value) in values.enumerated() {
                do throws(Problem) {
                    result.add(try cookie(value), line: index + 1)
                } catch {
                    result.skip(line: index + 1, error.reason)
                }
            }
        } catch {
            result.skip(line: 1, "not JSON: \(error)")
        }
        return result
    }

    struct Problem: Error {
        let reason: String
    }

    /// One cookie.
    static func cookie(_ value: JSONValue) throws(Problem) -> Cookie {
        guard let domain = value["domain"]?.string ?? value["host"]?.string else {
            throw Problem(reason: "member domain is missing")
        }
        let hasDot = domain.hasPrefix(".")
        let isSession = value["session"]?.bool ?? false
        let expires = try expiry(value["expires"] ?? value["expirationDate"] ?? value["expiry"])
        var cookie = Cookie(
            nameOctets: try octets("name", value),
            valueOctets: try octets("value", value),
            domain: hasDot ? String(domain.dropFirst()) : domain,
            isHostOnly: value["hostOnly"]?.bool ?? !hasDot,
            path: value["path"]?.string ?? "/",
            expires: isSession ? nil : expires,
            isSecure: value["secure"]?.bool ?? false,
            isHTTPOnly: value["httpOnly"]?.bool ?? false,
            sameSite: sameSite(value["sameSite"]?.string)
        )
        if let created = value["created"]?.number { cookie.created = CookieTime(secondsSince1970: created) }
        if let accessed = value["lastAccessed"]?.number { cookie.lastAccessed = CookieTime(secondsSince1970: accessed) }
        if let text = partition(value) {
            guard let partition = Site(text) else { throw Problem(reason: "partition \"\(text)\" is no site") }
            cookie.partition = partition
        }
        return cookie
    }

    /// Seconds since 1970, or a date of ISO 8601; nil for a session cookie.
    private static func expiry(_ value: JSONValue?) throws(Problem) -> CookieTime? {
        if let text = value?.string, !text.isEmpty {
            guard let date = CookieTime(iso8601: text) else { throw Problem(reason: "expiry \"\(text)\" is no date") }
            return date
        }
        // Drivers of browsers write -1 for a session cookie.
        return value?.number.flatMap { $0 < 0 ? nil : CookieTime(secondsSince1970: $0) }
    }

    /// Our own member, or what browsers call the key: a site, or an object that has it.
    private static func partition(_ value: JSONValue) -> String? {
        if let own = value["partition"]?.string { return own }
        let key = value["partitionKey"]
        return key?.string ?? key?["topLevelSite"]?.string ?? key?["sourceOrigin"]?.string
    }

    private static func octets(_ name: String, _ value: JSONValue) throws(Problem) -> [UInt8] {
        if let octets = value[name + "Octets"]?.array {
            let numbers = octets.compactMap { $0.number.flatMap(UInt8.init(exactly:)) }
            guard numbers.count == octets.count else { throw Problem(reason: "\(name)Octets are not octets") }
            return numbers
        }
        guard let text = value[name]?.string else { throw Problem(reason: "member \(name) is missing") }
        return Array(text.utf8)
    }

    private static func sameSite(_ text: String?) -> Cookie.SameSite {
        guard let text else { return .unspecified }
        return text.lowercased() == "no_restriction" ? .none : text.withOctets { Cookie.SameSite(attribute: $0) }
    }

    /// Writes a file.
    public static func write(_ cookies: some Sequence<Cookie>) -> [UInt8] {
        var text = "["
        for (index, cookie) in cookies.enumerated() {
            text += index > 0 ? ",\n" : "\n"
            value(of: cookie).write(to: &text)
        }
        return Array((text + "\n]\n").utf8)
    }

    private static func value(of cookie: Cookie) -> JSONValue {
        var members = [member("name", cookie.nameOctets), member("value", cookie.valueOctets)]
        let add = { (name: String, value: JSONValue) in members.append(JSONValue.Member(name: name, value: value)) }
        add("domain", .string(cookie.domain))
        add("hostOnly", .bool(cookie.isHostOnly))
        add("path", .string(cookie.path))
        if let expires = cookie.expires { add("expires", .number(expires.secondsSince1970)) }
        if cookie.created != .distantPast { add("created", .number(cookie.created.secondsSince1970)) }
        if cookie.lastAccessed != .distantPast { add("lastAccessed", .number(cookie.lastAccessed.secondsSince1970)) }
        add("secure", .bool(cookie.isSecure))
        add("httpOnly", .bool(cookie.isHTTPOnly))
        if let name = cookie.sameSite.name { add("sameSite", .string(name.lowercased())) }
        if let partition = cookie.partition { add("partition", .string(partition.description)) }
        return .object(members)
    }

    private static func member(_ name: String, _ octets: [UInt8]) -> JSONValue.Member {
        if let text = String(validating: octets, as: UTF8.self) {
            return JSONValue.Member(name: name, value: .string(text))
        }
        return JSONValue.Member(name: name + "Octets", value: .array(octets.map { .number(Double($0)) }))
    }
}
