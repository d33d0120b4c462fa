// SPDX-License-Identifier: Apache-2.0

/// The limits and policies of a jar.
public struct CookieJarConfiguration: Sendable {
    /// The maximum number of cookies of one domain. One cookie above it causes an eviction. Default 180, as in browsers (RFC
    /// 6265bis §6.1 recommends at least 50).
    public var maxCookiesPerDomain = 180
    /// The number of cookies that the jar keeps. When it holds over 10% more, it evicts down to this number. Default 3,000 (RFC
    /// 6265bis §6.1).
    public var maxCookies = 3000
    /// The number of cookies above which a site loses cookies before other sites, when the jar is full. A site is a registrable
    /// domain with all hosts below it. RFC 6265bis §5.7 (eviction, priorities 2 and 3) counts the cookies of one domain field
    /// instead. Default 50.
    package var crowdedDomainCount = 50
    /// The maximum age of a cookie. Default 400 days, the maximum of RFC 6265bis §5.5.
    public var maxAge: Duration = .seconds(defaultMaximumAge)

    static let defaultMaximumAge: Int64 = 400 * 86_400

    /// The defaults without limits on the number and age of cookies, for jars that only sort and check the cookies of another
    /// store. A maximum age would move the expiry of an old cookie at each look.
    package static var unbounded: CookieJarConfiguration {
        var configuration = CookieJarConfiguration()
        (configuration.maxCookies, configuration.maxCookiesPerDomain) = (.max, .max)
        configuration.maxAge = .seconds(Int64.max)
        return configuration
    }

    /// Whether SameSite=None is accepted without Secure (RFC 6265bis §5.7 step 19). Servers that implement only RFC 6265 send
    /// such cookies. Default false.
    public var acceptsInsecureSameSiteNone = false
    /// The number of changes that a reader of ``CookieJar/changes`` can fall behind before changes are lost. Default 1,024.
    package var changeBufferCapacity = 1024
    /// Restricts the cookies that the jar accepts. Default: all that RFC 6265bis accepts.
    public var acceptPolicy: CookieAcceptPolicy = .all
    /// Filters the cookies that the jar sends. Nil for all that RFC 6265bis sends. Default nil.
    public var matchFilter: CookieMatchFilter?

    /// Makes a configuration with the defaults.
    public init() {}
}
