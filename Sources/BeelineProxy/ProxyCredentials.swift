// SPDX-License-Identifier: Apache-2.0

import Names

/// The credentials for using the proxy, as HTTP Basic (RFC 7617) or SOCKS5 username and password (RFC 1929).
public struct ProxyCredentials: Hashable, Sendable {
    /// The user name, without a colon.
    public var user: String
    /// The password.
    public var password: String

    /// Creates credentials.
    public init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    /// Creates random credentials, for a proxy inside an app, so that other apps on the device cannot use it.
    public static func token() -> ProxyCredentials {
        ProxyCredentials(user: "beeline", password: Token.make())
    }

    /// Whether a client's credentials are equal to these. The time does not depend on where they differ.
    func matches(user: some Collection<UInt8>, password: some Collection<UInt8>) -> Bool {
        let user = ConstantTime.equal(user, self.user.utf8)
        let password = ConstantTime.equal(password, self.password.utf8)
        return user && password
    }

    /// Whether a `Proxy-Authorization` value contains these credentials.
    func matches(authorization value: some Collection<UInt8>) -> Bool {
        let scheme = Array("basic ".utf8)
        guard value.count > scheme.count, value.prefix(scheme.count).elementsEqual(scheme, by: { $0 | 0x20 == $1 }),
            let decoded = Base64.decodeCredentials(value.dropFirst(scheme.count).drop { $0 == 0x20 }),
            let colon = decoded.firstIndex(of: UInt8(ascii: ":"))
        else { return false }
        return matches(user: decoded[..<colon], password: decoded[(colon + 1)...])
    }
}

enum Token {
    /// A token of 160 random bits, in characters that need no escaping in a URL.
    static func make() -> String {
        var random = SystemRandomNumberGenerator()
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
        return String(decoding: (0..<32).map { _ in alphabet[Int.random(in: 0..<32, using: &random)] }, as: UTF8.self)
    }
}
