// SPDX-License-Identifier: Apache-2.0

public import CookieJar
public import DirectHTTP
package import HTTPDNS
package import HTTPTypes
public import Names

/// What one request does otherwise than the client's configuration says. Nil means: as configured.
public struct RequestOptions: Sendable {
    /// How long it may take, its interceptors, redirects, tries and the waits between them included.
    public var limits: TimeLimits?
    /// When it is tried again.
    public var retry: RetryPolicy?
    /// When it is sent a second time because the answer takes long. A policy without methods sends none.
    public var hedge: HedgePolicy?
    /// Who the caller is to the URL's origin; goes before a user in the URL and before
    /// ``ClientConfiguration/credentials``.
    public var credentials: Credentials?
    /// Whether a redirect to another origin takes `Authorization`, ``credentials`` and the request's own cookies along, as
    /// curl does with `--location-trusted`. Default false.
    public var credentialsFollowRedirects = false
    /// How long the body is held back until the server asks for it (`Expect: 100-continue`, RFC 9110 §10.1.1); nil: it is
    /// sent at once. A server that refuses the expectation (417) gets the request once more without it.
    public var expectContinue: Duration?
    /// What happens to redirects.
    public var redirects: RedirectPolicy?
    /// Whose cookies are sent and kept, such as those of another account. Nil: the client's.
    public var jar: CookieJar?
    /// The page for which something of it is asked: its site decides which of the jar's cookies are sent and kept
    /// (SameSite, Partitioned, `CookieAcceptPolicy.onlyFromMainDocumentSite`), at each hop anew. Nil, the default: what is
    /// asked for is itself the main document.
    public var mainDocument: HTTPURL?
    /// Whether the jar's cookies are sent. Default true.
    public var sendsCookies = true
    /// Whether the response's cookies are kept. Default true.
    public var keepsCookies = true
    /// Whether the cookies of a hop are kept, by its URL; nil: of all. `keepsCookies` must be true besides.
    package var keepsCookiesOf: (@Sendable (HTTPURL) -> Bool)?
    /// Asked before a redirect is followed: what is asked next instead, or nil to make the redirect the response.
    package var onRedirect: (@Sendable (RedirectProposal, HTTPResponse) async -> RedirectProposal?)?

    /// Asked before the URL's host is dialled directly: which of its endpoints may be; the resolution is nil where the host
    /// is pinned. A connection that is open already serves without a question.
    package var screen: EndpointScreen?

    /// The defaults.
    public init() {}

    /// Who asks for a URL, as a jar sees it.
    func cookieContext(of url: HTTPURL, _ method: HTTPRequest.Method) -> CookieContext {
        guard let mainDocument else { return CookieContext() }
        return CookieContext(request: url, from: mainDocument, isTopLevelNavigation: false, method: method.rawValue)
    }
}

/// Chooses among the endpoints of a host, or throws why there is none to be dialled.
package typealias EndpointScreen = @Sendable ([Endpoint], Resolution?) throws -> [Endpoint]

/// The request that a redirect leads to.
package struct RedirectProposal: Sendable {
    /// The URL that was redirected.
    package let previous: HTTPURL
    /// The method, by RFC 9110 §15.4.
    package var method: HTTPRequest.Method
    /// Where it goes.
    package var url: HTTPURL
    /// All fields but Host and Cookie, of which those that do not belong to the new origin are gone.
    package var fields: HTTPFields
    /// The caller's own Cookie field; nil: none, or it does not belong there.
    package var cookies: String?
    /// The Host that is wanted instead of the URL's.
    package var authority: String?
    /// The body in the place of the one that the redirect keeps or drops; nil: that one.
    package var body: RequestBody?
}
