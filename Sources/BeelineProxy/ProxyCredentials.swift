// SPDX-License-Identifier: Apache-2.0

/// What a client must show to use the proxy: Basic credentials (RFC 7617), which SOCKS5 carries too (RFC 1929).
public struct ProxyCredentials: Hashable, Sendable {
    /// The user. It has no colon.
    public var user: String
    /// The password.
    public var password: String

    /// Credentials of parts.
    public init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    /// Credentials that nobody can guess, for a proxy inside of an app: other apps on the device cannot use it.
    public static func token() -> ProxyCredentials {
        ProxyCredentials(user: "beeline", password: Token.make())
    }

    /// Whether what a client shows is this. Takes the same time wherever the first difference is.
    func matches(user: some Collection<UInt8>, password: some Collection<UInt8>) -> Bool {
        let user = Self.equal(user, self.user.utf8)
        let password = Self.equal(password, self.password.utf8)
        return user && password
    }

    /// Whether a value of `Proxy-Authorization` is this.
    func matches(authorization value: some Collection<UInt8>) -> Bool {
        let scheme = Array("basic ".utf8)
        guard value.count > scheme.count, value.prefix(scheme.count).elementsEqual(scheme, by: { $0 | 0x20 == $1 }),
            let decoded = Base64.decode(value.dropFirst(scheme.count).drop { $0 == 0x20 }),
            let colon = decoded.firstIndex(of: UInt8(ascii: ":"))
        else { return false }
        return matches(user: decoded[..<colon], password: decoded[(colon + 1)...])
    }

    private static func equal(_ given: some Collection<UInt8>, _ wanted: some Collection<UInt8>) -> Bool {
        var difference = given.count == wanted.count ? UInt8(0) : 1
        for (one, other) in zip(given, wanted) { difference |= one ^ other }
        return difference == 0
    }
}

/// Names that cannot be guessed.
enum Token {
    /// 160 random bits in letters and digits that a URL carries as they are.
    static func make() -> String {
        var random = SystemRandomNumberGenerator()
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
        return String(decoding: (0..<32).map { _ in alphabet[Int.random(in: 0..<32, using: &random)] }, as: UTF8.self)
    }
}

/// Base64 (RFC 4648 §4), padded.
enum Base64 {
    /// The octets; nil for what is no Base64.
    static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        var padding = 0
        for byte in text {
            if byte == UInt8(ascii: "=") {
                padding += 1
                continue
            }
            guard padding == 0, let value = value(byte) else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 1
            if count % 4 == 0 {
                result += [UInt8(truncatingIfNeeded: bits >> 16), UInt8(truncatingIfNeeded: bits >> 8)]
                result.append(UInt8(truncatingIfNeeded: bits))
            }
        }
        guard padding <= 2, padding == 0 || (count + padding) % 4 == 0 else { return nil }
        switch count % 4 {
        case 2: result.append(UInt8(truncatingIfNeeded: bits >> 4))
        case 3: result += [UInt8(truncatingIfNeeded: bits >> 10), UInt8(truncatingIfNeeded: bits >> 2)]
        case 1: return nil
        default: break
        }
        return result
    }

    private static func value(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
