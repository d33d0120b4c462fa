// SPDX-License-Identifier: Apache-2.0

#if Redis
import CookieJar
import Names

/// A cookie as octets: a format number, flags, SameSite, times, and five texts with their lengths. Numbers are
/// big-endian.
enum JarRow {
    /// The maximum size of a row: a name and a value of 4,096 octets, a path, and the rest. Earlier versions kept paths of
    /// up to 65,535 octets.
    static let maxOctets = 72_000
    private static let format: UInt8 = 1

    /// The octets of a cookie. Nil if a text is longer than a row can hold.
    static func write(_ cookie: Cookie) -> [UInt8]? {
        let key = CookieKey(cookie)
        let flags: [Bool] = [cookie.isHostOnly, cookie.isSecure, cookie.isHTTPOnly, cookie.expires != nil]
        let bits = flags.enumerated().reduce(UInt8(0)) { $0 | ($1.element ? 1 << UInt8($1.offset) : 0) }
        var octets: [UInt8] = [format, bits, cookie.sameSite.rawValue]
        for time in [cookie.created, cookie.lastAccessed, cookie.expires ?? .distantPast] {
            octets += bigEndian(UInt64(bitPattern: time.microseconds))
        }
        let texts = [
            Array(key.domain.utf8), Array(key.path.utf8), Array(key.partition.utf8), key.name, cookie.valueOctets,
        ]
        for text in texts {
            guard let count = UInt16(exactly: text.count) else { return nil }
            octets += [UInt8(count >> 8), UInt8(truncatingIfNeeded: count)] + text
        }
        return octets.count <= maxOctets ? octets : nil
    }

    /// Reads the octets of a cookie. Nil if they are malformed.
    static func read(_ octets: ArraySlice<UInt8>) -> Cookie? {
        guard octets.count <= maxOctets else { return nil }
        var rest = octets
        guard rest.popFirst() == format, let flags = rest.popFirst(), flags < 16,
            let sameSite = rest.popFirst().flatMap(Cookie.SameSite.init(rawValue:)), let created = time(&rest),
            let accessed = time(&rest), let expires = time(&rest), let domain = text(&rest), let path = text(&rest),
            let partition = text(&rest), let name = bytes(&rest), let value = bytes(&rest), rest.isEmpty,
            let key = CookieKey(
                checking: domain,
                isHostOnly: flags & 1 != 0,
                path: path,
                partition: partition,
                name: name
            )
        else { return nil }
        var cookie = key.cookie
        cookie.valueOctets = value
        cookie.isSecure = flags & 2 != 0
        cookie.isHTTPOnly = flags & 4 != 0
        cookie.expires = flags & 8 != 0 ? expires : nil
        cookie.sameSite = sameSite
        (cookie.created, cookie.lastAccessed) = (created, accessed)
        return cookie
    }

    /// The octets that identify a cookie.
    static func write(_ key: CookieKey) -> [UInt8] {
        let texts = [Array(key.domain.utf8), Array(key.path.utf8), Array(key.partition.utf8), key.name]
        // The lengths distinguish keys whose texts are equal when joined.
        var octets: [UInt8] = [key.isHostOnly ? 1 : 0]
        for text in texts { octets += bigEndian(UInt64(text.count)).suffix(4) + text }
        return octets
    }

    private static func bigEndian(_ number: UInt64) -> [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) }
    }

    private static func time(_ rest: inout ArraySlice<UInt8>) -> CookieTime? {
        guard rest.count >= 8 else { return nil }
        defer { rest.removeFirst(8) }
        return CookieTime(microseconds: Int64(bitPattern: rest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }))
    }

    private static func bytes(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        guard rest.count >= 2 else { return nil }
        let count = rest.prefix(2).reduce(0) { $0 << 8 | Int($1) }
        rest.removeFirst(2)
        guard rest.count >= count else { return nil }
        defer { rest.removeFirst(count) }
        return Array(rest.prefix(count))
    }

    private static func text(_ rest: inout ArraySlice<UInt8>) -> String? {
        bytes(&rest).flatMap { String(validUTF8: $0) }
    }
}
#endif
