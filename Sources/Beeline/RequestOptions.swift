// SPDX-License-Identifier: Apache-2.0

public import CookieJar
public import DirectHTTP
package import HTTPTypes
public import Names

/// Settings of one request that override the client's configuration. `nil` means: as configured.
public struct RequestOptions: Sendable {
    /// The time limits of the call, including its interceptors, redirects, tries and the waits between them.
    public var limits: TimeLimits?
    /// The retry policy. ``RetryPolicy/off`` turns off the configured retries.
    public var retry: RetryPolicy?
    /// When to send a second, equal request because the response is slow. A policy without methods turns hedging off.
    public var hedge: HedgePolicy?
    /// The credentials for the origin of the URL. They override a user in the URL and ``ClientConfiguration/credentials``.
    public var credentials: Credentials?
    /// Whether a redirect to another origin (scheme, host or port) keeps `Authorization`, ``credentials`` and the request's own
    /// `Cookie`, as in curl's `--location-trusted`. Default false. A user in the URL, and cookies of the jar, never follow.
    public var credentialsFollowRedirects = false
    /// How long the body waits for the server's permission (`Expect: 100-continue`, RFC 9110 §10.1.1); `nil` sends the body at
    /// once. It is not sent if the response is complete before, or is neither 1xx nor 2xx. If the server refuses the expectation
    /// (417), the client sends the request again without it.
    public var expectContinue: Duration?
    /// The redirect policy. With ``RedirectPolicy/off``, a redirect is the response.
    public var redirects: RedirectPolicy?
    /// The allowed method, fields and URLs of redirected requests.
    public var redirectRules: RedirectRules?
    /// The cookie jar, for example that of another account. `nil` uses the client's jar.
    public var jar: CookieJar?
    /// The URL of the page that the request belongs to. At each hop, its site decides which cookies the jar sends and
    /// keeps (SameSite, Partitioned, `CookieAcceptPolicy.onlyFromMainDocumentSite`). Default `nil`: the request itself
    /// loads the main document.
    public var mainDocument: HTTPURL?
    /// The host whose cookies are sent and kept in place of the URL's. It is for a request whose `Host` names another
    /// site than its URL, such as a test of a server that is not in DNS yet. It no longer applies after a redirect to
    /// another origin. Default `nil`.
    package var cookieHost: Host?
    /// Limits on the jar's cookies in each request, and on the cookies that each response can store. Default none.
    package var cookieLimits = CookieLimits()
    /// Whether to send cookies of the jar. Default true.
    public var sendsCookies = true
    /// Whether to keep cookies of responses. Default true.
    public var keepsCookies = true
    /// Called with each response head of the call when it arrives: informational responses (1xx), redirects,
    /// challenges, the responses of other tries and the final one. It runs on an event loop and must not block. The
    /// heads of both requests of a hedge may arrive in any order. For a WebSocket, these are the heads of its handshake.
    /// It is not called for the heads of a proxy that opens a tunnel. Default `nil`.
    public var onHead: (@Sendable (ReceivedHead) -> Void)?
    /// How requests are written and responses are read. The request target is that of the first URL only.
    package var wire = WireOptions()
    /// Whether a request whose body may be decoded has an `Accept-Encoding`. Default true.
    package var offersCodings = true
    /// Whether to decode a body even if the request has its own `Accept-Encoding` or a `Range`, as with curl's
    /// `--compressed`. `ClientConfiguration.decodesContent` must also be true. Default false.
    package var decodesEveryBody = false
    /// Whether to keep the cookies of a hop, by its URL; `nil` keeps all. `keepsCookies` must also be true.
    package var keepsCookiesOf: (@Sendable (HTTPURL) -> Bool)?
    /// Called before a redirect is followed. Returns the request to send, or `nil` to return the redirect as the response.
    package var onRedirect: (@Sendable (RedirectProposal, HTTPResponse) async -> RedirectProposal?)?

    /// Chooses the endpoints that may be dialled for the URL.
    package var screen: EndpointScreen?

    /// Creates options with default values.
    public init() {}

    /// The context of a request for a URL, for the cookie jar.
    func cookieContext(of url: HTTPURL, method: HTTPRequest.Method) -> CookieContext {
        guard let mainDocument else { return CookieContext() }
        return CookieContext(request: url, from: mainDocument, isTopLevelNavigation: false, method: method.rawValue)
    }
}

/// The request that follows a redirect.
package struct RedirectProposal: Sendable {
    /// The URL that redirected.
    package let previous: HTTPURL
    /// The method, by RFC 9110 §15.4.
    package var method: HTTPRequest.Method
    /// The target of the redirect.
    package var url: HTTPURL
    /// All fields but Host and Cookie. Fields that must not reach the new origin are removed.
    package var fields: HTTPFields
    /// The caller's own Cookie field; `nil` if there is none or it must not reach the new origin.
    package var cookies: String?
    /// The Host to send in place of the URL's.
    package var authority: String?
    /// A body that replaces the one of the redirect; `nil` for no change.
    package var body: RequestBody?
}
