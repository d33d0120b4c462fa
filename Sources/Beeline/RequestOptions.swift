// SPDX-License-Identifier: Apache-2.0

public import CookieJar
public import DirectHTTP
package import HTTPTypes
package import Names

/// What one request does otherwise than the client's configuration says. Nil means: as configured.
public struct RequestOptions: Sendable {
    /// How long it may take, its redirects included.
    public var limits: TimeLimits?
    /// What happens to redirects.
    public var redirects: RedirectPolicy?
    /// Whose cookies are sent and kept, such as those of another account. Nil: the client's.
    public var jar: CookieJar?
    /// Whether the jar's cookies are sent. Default true.
    public var sendsCookies = true
    /// Whether the response's cookies are kept. Default true.
    public var keepsCookies = true
    /// Whether the cookies of a hop are kept, by its URL; nil: of all. `keepsCookies` must be true besides.
    package var keepsCookiesOf: (@Sendable (HTTPURL) -> Bool)?
    /// Asked before a redirect is followed: what is asked next instead, or nil to make the redirect the response.
    package var onRedirect: (@Sendable (RedirectProposal, HTTPResponse) async -> RedirectProposal?)?

    /// The defaults.
    public init() {}
}

/// The request that a redirect leads to.
package struct RedirectProposal: Sendable {
    /// The URL that was redirected.
    package let previous: HTTPURL
    /// The method, by RFC 9110 §15.4.
    package var method: HTTPRequest.Method
    /// Where it goes.
    package var url: HTTPURL
    /// All fields but Cookie, of which those that do not belong to the new origin are gone.
    package var fields: HTTPFields
}
