// SPDX-License-Identifier: Apache-2.0

/// A cookie as a jar keeps it (RFC 6265bis §5.7).
///
/// Name and value are octets: what a server sent is what it gets back, UTF-8 or not.
public struct Cookie: Hashable, Sendable {
    /// Which cross-site requests carry a cookie (RFC 6265bis §5.6.7).
    public enum SameSite: UInt8, Hashable, Sendable, CaseIterable {
        /// The attribute was absent or unknown; enforced as Lax.
        case unspecified = 0
        /// Same-site requests, and top-level navigations with a safe method.
        case lax = 1
        /// Same-site requests.
        case strict = 2
        /// All requests; needs Secure.
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

    /// The name's octets; empty for a nameless cookie.
    public var nameOctets: [UInt8]
    /// The value's octets.
    public var valueOctets: [UInt8]
    /// The domain without a leading dot, canonical as the host of a URL is.
    public var domain: String
    /// Whether only the host `domain` itself gets the cookie, and no host below it.
    public var isHostOnly: Bool
    /// The path; it begins with a slash.
    public var path: String
    /// When the cookie expires; nil: with the session.
    public var expires: CookieTime?
    /// When the first cookie with this name, domain and path was stored; `.distantPast`: a jar sets it.
    public var created: CookieTime
    /// When the cookie was last sent or stored, to the second.
    public var lastAccessed: CookieTime
    /// Whether only secure connections carry it.
    public var isSecure: Bool
    /// Whether scripts are kept from it.
    public var isHTTPOnly: Bool
    /// Which cross-site requests carry it.
    public var sameSite: SameSite
    /// The site of the page that a Partitioned cookie belongs to; nil for a cookie that is not Partitioned.
    public var partition: Site?

    /// A cookie of parts. Nothing is checked here; a jar checks what it is handed.
    public init(
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

    /// A cookie of a name and a value in UTF-8, for one host.
    public init(_ name: String, _ value: String, domain: String, path: String = "/") {
        self.init(nameOctets: Array(name.utf8), valueOctets: Array(value.utf8), domain: domain, path: path)
    }

    /// The name as text; octets that are not UTF-8 are replaced.
    public var name: String { String(decoding: nameOctets, as: UTF8.self) }
    /// The value as text; octets that are not UTF-8 are replaced.
    public var value: String { String(decoding: valueOctets, as: UTF8.self) }

    /// `name=value` as the Cookie header carries it (RFC 6265bis §5.8.3 step 6); a nameless cookie is its value.
    public var pairOctets: [UInt8] { nameOctets.isEmpty ? valueOctets : nameOctets + [.equals] + valueOctets }

    /// Whether the cookie has expired at a time.
    public func isExpired(at now: CookieTime) -> Bool {
        expires.map { $0 <= now } ?? false
    }
}
