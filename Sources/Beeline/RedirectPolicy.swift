// SPDX-License-Identifier: Apache-2.0

public import Names

/// How the client handles a redirect (RFC 9110 §15.4).
public enum RedirectPolicy: Sendable, Hashable {
    /// Returns the redirect as the response.
    case off
    /// Follows up to `limit` redirects. One more throws `tooManyRedirects`.
    case follow(limit: Int)

    // Swift reads `options.redirects = .none` as nil. Because of this name, the compiler warns of it.
    /// The earlier name of ``off``.
    @available(*, deprecated, message: "in RequestOptions, `.none` means nil: as configured", renamed: "off")
    public static var none: RedirectPolicy { .off }
}

/// The allowed method, fields and URLs of redirected requests. After a redirect from `https` to `http`, a request has no
/// `Referer`, not even that of the caller (RFC 9110 §10.1.3).
public struct RedirectRules: Sendable, Hashable {
    /// The statuses among 301, 302 and 303 after which a POST stays a POST with its body, as with curl's `--post301`,
    /// `--post302` and `--post303`. Default none: the next request is a GET.
    public var keepsPost: Set<Int> = []
    /// Whether a request with a method other than POST is handled as a POST, so that 301 and 302 make it a GET. Default false.
    package var countsAsPost = false
    /// Whether every hop keeps the method of the request, as with curl's `-X` and `-L`. The body is still left out as
    /// RFC 9110 requires. Default false.
    package var keepsMethod = false
    /// Whether a space in the query of a `Location` is sent as `+`, as curl does. By default it is `%20`, as in browsers. A
    /// `Location` with a space is not a URL (RFC 3986 §3.4), so the client has to choose.
    package var writesPlusForSpace = false
    /// Whether a `Location` with more than three slashes before its host throws `malformedURL`, as in curl. Such a URL has an
    /// empty host (RFC 9110 §4.2.1). Default false: the further slashes are ignored, as in browsers.
    package var refusesExtraSlashes = false
    /// The allowed schemes of redirect targets. A redirect to another scheme throws `unsupportedScheme`. Default: all.
    public var schemes: Set<Scheme> = [.http, .https, .ws, .wss]
    /// Whether a redirected request has a `Referer` with the URL that redirected it, without user, password and
    /// fragment. Default false.
    public var sendsReferer = false
    /// Whether a redirect from `https` to `http` keeps the caller's `Referer`, as in curl. Default false.
    package var keepsReferer = false

    /// The default rules.
    public init() {}
}
