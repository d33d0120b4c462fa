// SPDX-License-Identifier: Apache-2.0

import Names

/// A cookie in a jar (RFC 6265bis §5.7).
///
/// Name and value are octets, so that a server gets back exactly what it sent, even if that is not UTF-8.
public struct Cookie: Hashable, Sendable {
    /// The cross-site requests that carry a cookie (RFC 6265bis §5.6.7).
    public enum SameSite: UInt8, Hashable, Sendable, CaseIterable {
        /// The attribute was absent or unknown. Enforced as Lax.
        case unspecified = 0
        /// Same-site requests, and top-level navigations with a safe method.
        case lax = 1
        /// Same-site requests.
        case strict = 2
        /// All requests. Requires Secure.
        case none = 3

        init(attribute value: some Collection<UInt8>) {
            switch String(decoding: value.prefix(7).map(\.lowercased), as: UTF8.self) {
            case "none": self = .none
            case "strict": self = .strict
            case "lax": self = .lax
            default: self = .unspecified
            }
        }
    }

    /// The maximum length of a path in a jar, in octets: that of a Path attribute. Default paths have it too.
    package static let maxPathOctets = SetCookieParser.maxAttributeLength
    /// The maximum length of a domain in a jar, in octets, and of the domain of a partition. All names of DNS fit.
    package static let maxDomainOctets = 255
    /// The maximum size of the texts of a cookie in a jar, in octets: name and value, path, domain, and partition, which begins
    /// with `https://`.
    package static let maxOctets = SetCookieParser.maxPairLength + maxPathOctets + 2 * maxDomainOctets + 8

    /// The octets of the name. Empty for a nameless cookie.
    package var nameOctets: [UInt8]
    package var valueOctets: [UInt8]
    /// The domain without a leading dot, in the canonical form of a URL's host.
    public var domain: String
    /// Whether the cookie is sent to the host `domain` only, and not to its subdomains.
    public var isHostOnly: Bool
    /// The path. It starts with a slash.
    public var path: String
    /// When the cookie expires. Nil for a session cookie.
    public var expires: CookieTime?
    /// When the first cookie with this name, domain and path was stored. `.distantPast` lets the jar set the time.
    public var created: CookieTime
    /// When the cookie was last sent or stored, in whole seconds.
    public var lastAccessed: CookieTime
    /// Whether the cookie is sent over secure connections only.
    public var isSecure: Bool
    /// Whether the cookie is hidden from scripts.
    public var isHTTPOnly: Bool
    /// The cross-site requests that carry the cookie.
    public var sameSite: SameSite
    /// The top-level site of a Partitioned cookie. Nil for other cookies.
    public var partition: Site?

    /// Makes a cookie from its parts without checks. The jar checks a cookie when it is inserted.
    package init(
        nameOctets: [UInt8],
        valueOctets: [UInt8],
        domain: String,
        isHostOnly: Bool = true,
        path: String = "/",
        expires: CookieTime? = nil,
        created: CookieTime = .distantPast,
        lastAccessed: CookieTime? = nil,
        isSecure: Bool = false,
        isHTTPOnly: Bool = false,
        sameSite: SameSite = .unspecified,
        partition: Site? = nil
    ) {
        self.nameOctets = nameOctets
        self.valueOctets = valueOctets
        self.domain = domain
        self.isHostOnly = isHostOnly
        self.path = path
        self.expires = expires
        self.created = created
        self.lastAccessed = lastAccessed ?? created
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.sameSite = sameSite
        self.partition = partition
    }

    /// Makes a host-only cookie from a name and a value in UTF-8, without Secure, HttpOnly, SameSite and expiry.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - value: The value.
    ///   - domain: A host in canonical form, without a leading dot. The jar checks it.
    ///   - path: The path. Default `/`.
    public init(_ name: String, _ value: String, domain: String, path: String = "/") {
        self.init(nameOctets: Array(name.utf8), valueOctets: Array(value.utf8), domain: domain, path: path)
    }

    /// Whether no subdomain gets the cookie. An address has no subdomains, even if the server named it, and browsers refuse a dot
    /// before it in a file.
    package var isForOneHost: Bool { isHostOnly || (try? Host(domain))?.address != nil }

    /// The name as text. Invalid UTF-8 is replaced.
    public var name: String { String(decoding: nameOctets, as: UTF8.self) }
    /// The value as text. Invalid UTF-8 is replaced.
    public var value: String { String(decoding: valueOctets, as: UTF8.self) }

    /// The separator between cookies in a Cookie header field.
    package static let separator: [UInt8] = [.semicolon, .space]

    /// `name=value` as in the Cookie header field (RFC 6265bis §5.8.3 step 6). For a nameless cookie, the value alone.
    package var pairOctets: [UInt8] { nameOctets.isEmpty ? valueOctets : nameOctets + [.equals] + valueOctets }

    /// Whether the cookie has expired at a given time.
    public func isExpired(at now: CookieTime) -> Bool {
        expires.map { $0 <= now } ?? false
    }
}
