// SPDX-License-Identifier: Apache-2.0

import CookieJar
import HTTPDNS

/// A cookie in the answer of a browser or a driver, in the form of any of the three protocols.
///
/// A member of an unexpected type counts as missing. Not a `JSONValue`, because decoding thousands of cookies that way
/// takes tenths of a second.
struct DriverCookie: Decodable, Sendable {
    /// The value: a text, or in WebDriver BiDi a text with its encoding.
    enum Value: Sendable {
        case text(String)
        case typed(String?, String)
    }

    let name: String?
    let value: Value?
    let domain: String?
    let path: String?
    let sameSite: String?
    let isSecure: Bool
    let isHTTPOnly: Bool
    /// The expiry in WebDriver and WebDriver BiDi, in seconds since 1970.
    let expiry: Double?
    /// The expiry in the DevTools protocol; nil for a session cookie.
    let expires: Double?
    /// The partition's site in the DevTools protocol; nil without a partition.
    let topLevelSite: String?

    private enum CodingKeys: String, CodingKey {
        case name, value, domain, path, sameSite, secure, httpOnly, expiry, expires, session, partitionKey, type
        case topLevelSite
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        name = members.found(.name)
        domain = members.found(.domain)
        path = members.found(.path)
        sameSite = members.found(.sameSite)
        isSecure = members.found(.secure) ?? false
        isHTTPOnly = members.found(.httpOnly) ?? false
        expiry = members.found(.expiry)
        let isSession: Bool = members.found(.session) ?? false
        expires = isSession ? nil : members.found(.expires)
        topLevelSite = members.members(.partitionKey)?.found(.topLevelSite)
        if let text: String = members.found(.value) {
            value = .text(text)
        } else {
            let typed = members.members(.value)
            let text: String? = typed?.found(.value)
            value = text.map { .typed(typed?.found(.type), $0) }
        }
    }

    /// The value if it is a text without an encoding.
    var text: String? {
        if case .text(let text) = value { text } else { nil }
    }

    /// The place of a cookie whose value or attributes cannot be read, without its partition.
    ///
    /// - Parameter name: The octets of the name.
    /// - Throws: ``WebDriverError``: `refused` if the answer does not name the place.
    func place(name: [UInt8]?) throws(WebDriverError) -> CookiePlace {
        guard let name, let domain, let path else {
            throw WebDriverError(.refused, "the browser sent a cookie without name, domain or path; \(Self.remedy)")
        }
        var cookie = Cookie(nameOctets: name, valueOctets: [], domain: domain, path: path)
        cookie.setScope(ofDriver: domain)
        return CookiePlace(cookie)
    }

    /// The remedy for an answer in an unknown form.
    static let remedy = "this library may be too old for it"
}

extension KeyedDecodingContainer {
    /// Returns a member; nil if it is missing or has another type.
    fileprivate func found<Value: Decodable>(_ key: Key) -> Value? {
        (try? decodeIfPresent(Value.self, forKey: key)) ?? nil
    }

    /// Returns the members of an object; nil if it is missing or not an object.
    fileprivate func members(_ key: Key) -> KeyedDecodingContainer<Key>? {
        guard contains(key) else { return nil }
        return try? nestedContainer(keyedBy: Key.self, forKey: key)
    }
}

/// The result of a command that lists cookies. A missing list is an error: it must not count as empty, because that would
/// delete all cookies.
struct DriverCookies: Decodable, Sendable {
    let cookies: [DriverCookie]
}

/// The cookies that a browser shows.
struct ShownCookies: Sendable {
    var cookies: [Cookie] = []
    /// The places, without partition, of cookies that the browser has in a form that cannot be read. They are not deleted.
    var unreadable: Set<CookiePlace> = []

    /// - Parameters:
    ///   - shown: The cookies of an answer.
    ///   - name: Returns the octets of a cookie's name.
    ///   - read: Returns the cookie; nil if it cannot be read.
    /// - Throws: ``WebDriverError``: `refused` if a cookie that cannot be read has no place.
    init(
        _ shown: [DriverCookie],
        name: (DriverCookie) -> [UInt8]? = { $0.name.map { Array($0.utf8) } },
        _ read: (DriverCookie) -> Cookie?
    ) throws(WebDriverError) {
        for cookie in shown {
            if let cookie = read(cookie) {
                cookies.append(cookie)
            } else {
                unreadable.insert(try cookie.place(name: name(cookie)))
            }
        }
    }

    init(_ cookies: [Cookie] = [], unreadable: Set<CookiePlace> = []) {
        (self.cookies, self.unreadable) = (cookies, unreadable)
    }

    /// Whether a cookie is among those that cannot be read, in any partition.
    func hides(_ cookie: Cookie) -> Bool {
        guard !unreadable.isEmpty else { return false }
        var cookie = cookie
        cookie.partition = nil
        return unreadable.contains(CookiePlace(cookie))
    }
}
