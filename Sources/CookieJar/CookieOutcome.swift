// SPDX-License-Identifier: Apache-2.0

/// The result of storing a cookie.
public enum CookieOutcome: Hashable, Sendable, CustomStringConvertible {
    /// The cookie is new and was stored.
    case kept
    /// The cookie replaced the one with its name, domain and path, and took over its creation time.
    case replaced
    /// The cookie had already expired. The stored cookie with its name, domain and path was deleted, if there was one.
    case deleted
    /// The cookie was rejected.
    case rejected(CookieRejection)

    /// `kept`, `replaced`, `deleted`, or `rejected: ` and the reason.
    public var description: String {
        switch self {
        case .kept: "kept"
        case .replaced: "replaced"
        case .deleted: "deleted"
        case .rejected(let reason): "rejected: \(reason)"
        }
    }
}

/// The reason why a cookie was not stored. `description` is the reason in words.
public struct CookieRejection: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason in words.
    public let description: String

    private init(_ description: String) { self.description = description }

    package static let controlCharacter = CookieRejection("it has a control character (RFC 6265bis §5.6 step 1)")
    package static let tooLarge = CookieRejection("name and value are more than 4096 octets (§5.6 step 5)")
    package static let empty = CookieRejection("name and value are empty (§5.7 step 2)")
    package static let nonASCIIDomain = CookieRejection("the Domain attribute is not ASCII (§5.7 step 8)")
    package static let publicSuffix = CookieRejection("the Domain attribute is a public suffix (§5.7 step 9)")
    package static let foreignDomain = CookieRejection("the host is not within the Domain attribute (§5.7 step 10)")
    /// The Path attribute has octets that are not ASCII (web platform tests of 2026).
    package static let nonASCIIPath = CookieRejection("the Path attribute is not ASCII")
    /// The path has more than 1024 octets. Firefox has this limit for default paths too.
    package static let pathTooLong = CookieRejection("the path is more than 1024 octets")
    /// The domain, or that of the partition, has more than 255 octets. DNS has no such names.
    package static let domainTooLong = CookieRejection("the domain is more than 255 octets")
    /// A Secure cookie from an insecure connection (§5.7 step 13).
    package static let secureFromInsecureOrigin = CookieRejection("Secure needs a secure connection (§5.7 step 13)")
    package static let httpOnlyFromScript = CookieRejection("HttpOnly cannot be set by a script (§5.7 step 15)")
    package static let overlaysSecureCookie = CookieRejection(
        "it would hide a Secure cookie of the same name (§5.7 step 16)"
    )
    package static let crossSite = CookieRejection("a cross-site request may only set SameSite=None (§5.7 step 18)")
    package static let sameSiteNoneWithoutSecure = CookieRejection("SameSite=None needs Secure (§5.7 step 19)")
    package static let securePrefix = CookieRejection("the prefix __Secure- needs Secure (§5.7 step 20)")
    /// `__Host-` or `__Host-Http-` without Secure or Path=/, or with Domain (§5.7 step 21).
    package static let hostPrefix = CookieRejection(
        "the prefix __Host- needs Secure, Path=/ and no Domain (§5.7 step 21)"
    )
    /// `__Http-` or `__Host-Http-` without Secure or HttpOnly (draft-ietf-httpbis-layered-cookies).
    package static let httpPrefix = CookieRejection("the prefix __Http- needs Secure and HttpOnly")
    package static let hiddenPrefix = CookieRejection(
        "a nameless cookie's value looks like a name with a prefix (§5.7 step 22)"
    )
    package static let overwritesHTTPOnly = CookieRejection(
        "a script cannot overwrite an HttpOnly cookie (§5.7 step 23)"
    )
    /// Partitioned without Secure (draft-cutler-httpbis-partitioned-cookies).
    package static let partitionedWithoutSecure = CookieRejection("Partitioned needs Secure")
    /// The jar's policy rejected the cookie.
    package static let policy = CookieRejection("the jar's policy refuses it")
    /// The response has set as many cookies as the client accepts from one.
    package static let tooManyOfResponse = CookieRejection("the response sets too many cookies")
    /// The domain or the jar is full of cookies with a higher priority.
    package static let noRoom = CookieRejection("its domain or the jar is full of cookies with higher priority")
    /// A part of a cookie value cannot occur in a cookie.
    package static let malformedName = CookieRejection("its name has an equals sign, a semicolon or outer spaces")
    package static let malformedValue = CookieRejection("its value has a semicolon or outer spaces")
    package static let malformedPath = CookieRejection("its path does not start with a slash, or has a semicolon")
    package static let malformedDomain = CookieRejection("its domain is not the host of a URL")
}
