// SPDX-License-Identifier: Apache-2.0

/// The bounds and the policy of a jar.
public struct CookieJarConfiguration: Sendable {
    /// The most cookies that share a domain field; default 180, as browsers have it (RFC 6265bis §6.1 asks for 50).
    /// One more evicts one.
    public var maximumCookiesPerDomain = 180
    /// The most cookies that are sure of their place in the jar; default 3,000 (RFC 6265bis §6.1). When a tenth more are
    /// there, the jar is brought back to this number.
    public var maximumCookies = 3000
    /// A site with more cookies than this loses some before others do, when the jar is full; default 50 (RFC 6265bis §5.7,
    /// eviction, priorities 2 and 3, which count the cookies of one domain field). A site is a registrable domain with all
    /// hosts below it.
    public var crowdedDomainCount = 50
    /// The longest life of a cookie; default 400 days, the most that RFC 6265bis §5.5 allows.
    public var maximumAge: Duration = .seconds(defaultMaximumAge)

    static let defaultMaximumAge: Int64 = 400 * 86_400

    /// The defaults without the bounds on the number of cookies: for jars that only sort and judge what another store has.
    package static var unbounded: CookieJarConfiguration {
        var configuration = CookieJarConfiguration()
        (configuration.maximumCookies, configuration.maximumCookiesPerDomain) = (.max, .max)
        return configuration
    }

    /// Whether SameSite=None is accepted without Secure; default false (RFC 6265bis §5.7 step 19). Servers that know only
    /// RFC 6265 send such cookies.
    public var acceptsInsecureSameSiteNone = false
    /// How many changes wait for a slow reader of ``CookieJar/changes`` before some are lost; default 1,024.
    public var changeBufferCapacity = 1024
    /// Which cookies are accepted; default all that RFC 6265bis accepts.
    public var acceptPolicy: CookieAcceptPolicy = .all
    /// Which of the cookies that RFC 6265bis would send are sent; default nil: all.
    public var matchFilter: CookieMatchFilter?

    /// A configuration with every default.
    public init() {}
}
