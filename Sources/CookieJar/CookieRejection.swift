// SPDX-License-Identifier: Apache-2.0

/// Why a cookie was not stored. `description` says it in words.
public struct CookieRejection: Error, Hashable, Sendable, CustomStringConvertible {
    private enum Reason: String, Hashable, Sendable {
        case controlCharacter = "it has a control character (RFC 6265bis §5.6 step 1)"
        case tooLarge = "name and value are more than 4096 octets (§5.6 step 5)"
        case empty = "name and value are empty (§5.7 step 2)"
        case nonASCIIDomain = "the Domain attribute is not ASCII (§5.7 step 8)"
        case publicSuffix = "the Domain attribute is a public suffix (§5.7 step 9)"
        case foreignDomain = "the host is not within the Domain attribute (§5.7 step 10)"
        case nonASCIIPath = "the Path attribute is not ASCII"
        case pathTooLong = "the path is longer than a cookie can hold"
        case secureFromInsecureOrigin = "Secure needs a secure connection (§5.7 step 13)"
        case httpOnlyFromScript = "HttpOnly cannot be set by a script (§5.7 step 15)"
        case overlaysSecureCookie = "it would hide a Secure cookie of the same name (§5.7 step 16)"
        case crossSite = "a cross-site request may only set SameSite=None (§5.7 step 18)"
        case sameSiteNoneWithoutSecure = "SameSite=None needs Secure (§5.7 step 19)"
        case securePrefix = "the prefix __Secure- needs Secure (§5.7 step 20)"
        case hostPrefix = "the prefix __Host- needs Secure, Path=/ and no Domain (§5.7 step 21)"
        case httpPrefix = "the prefix __Http- needs Secure and HttpOnly"
        case hiddenPrefix = "a nameless cookie's value looks like a name with a prefix (§5.7 step 22)"
        case overwritesHTTPOnly = "a script cannot overwrite an HttpOnly cookie (§5.7 step 23)"
        case partitionedWithoutSecure = "Partitioned needs Secure"
        case policy = "the jar's policy refuses it"
        case noRoom = "its domain is full of Secure cookies"
        case malformed = "a part of it cannot be in a cookie"
        case expired = "it has expired"
    }

    private let reason: Reason

    private init(_ reason: Reason) { self.reason = reason }

    /// The reason in words.
    public var description: String { reason.rawValue }

    /// The header field has a control character other than tab (RFC 6265bis §5.6 step 1).
    public static let controlCharacter = CookieRejection(.controlCharacter)
    /// Name and value have more than 4096 octets together (§5.6 step 5).
    public static let tooLarge = CookieRejection(.tooLarge)
    /// Neither name nor value (§5.7 step 2).
    public static let empty = CookieRejection(.empty)
    /// The Domain attribute has octets that are not ASCII (§5.7 step 8).
    public static let nonASCIIDomain = CookieRejection(.nonASCIIDomain)
    /// The Domain attribute is a public suffix and not the host itself (§5.7 step 9).
    public static let publicSuffix = CookieRejection(.publicSuffix)
    /// The host does not domain-match the Domain attribute (§5.7 step 10).
    public static let foreignDomain = CookieRejection(.foreignDomain)
    /// The Path attribute has octets that are not ASCII (web platform tests of 2026).
    public static let nonASCIIPath = CookieRejection(.nonASCIIPath)
    /// The path has more than 65,535 octets.
    public static let pathTooLong = CookieRejection(.pathTooLong)
    /// Secure from a connection that is not (§5.7 step 13).
    public static let secureFromInsecureOrigin = CookieRejection(.secureFromInsecureOrigin)
    /// HttpOnly from a script (§5.7 step 15).
    public static let httpOnlyFromScript = CookieRejection(.httpOnlyFromScript)
    /// It would hide a Secure cookie and comes over an insecure connection (§5.7 step 16).
    public static let overlaysSecureCookie = CookieRejection(.overlaysSecureCookie)
    /// A cookie of SameSite other than None from a cross-site request (§5.7 step 18).
    public static let crossSite = CookieRejection(.crossSite)
    /// SameSite=None without Secure (§5.7 step 19).
    public static let sameSiteNoneWithoutSecure = CookieRejection(.sameSiteNoneWithoutSecure)
    /// `__Secure-` without Secure (§5.7 step 20).
    public static let securePrefix = CookieRejection(.securePrefix)
    /// `__Host-` or `__Host-Http-` without Secure or Path=/, or with Domain (§5.7 step 21).
    public static let hostPrefix = CookieRejection(.hostPrefix)
    /// `__Http-` or `__Host-Http-` without Secure or HttpOnly (draft-ietf-httpbis-layered-cookies).
    public static let httpPrefix = CookieRejection(.httpPrefix)
    /// No name, and a value that begins with a prefix (§5.7 step 22).
    public static let hiddenPrefix = CookieRejection(.hiddenPrefix)
    /// A script's cookie where an HttpOnly one is (§5.7 step 23).
    public static let overwritesHTTPOnly = CookieRejection(.overwritesHTTPOnly)
    /// Partitioned without Secure (draft-cutler-httpbis-partitioned-cookies).
    public static let partitionedWithoutSecure = CookieRejection(.partitionedWithoutSecure)
    /// The jar's policy refuses it.
    public static let policy = CookieRejection(.policy)
    /// The domain or the jar is full of cookies that may stay before it.
    public static let noRoom = CookieRejection(.noRoom)
    /// A cookie that was handed over as a value has a part that no cookie has.
    public static let malformed = CookieRejection(.malformed)
    /// A cookie that was handed over as a value has expired, and there was none to delete.
    public static let expired = CookieRejection(.expired)
}
