// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
package import HTTPTypes
import Names

/// Creates the request that follows a redirect (RFC 9110 §15.4).
enum Redirect {
    /// Returns the next hop; `nil` if the response is not a redirect or has no `Location`.
    ///
    /// - Parameters:
    ///   - rules: The allowed method, fields and URLs of the request.
    ///   - keepsCredentials: Whether another origin may receive the credentials.
    ///   - hsts: The hosts that require TLS. They change the target before it is compared with the previous URL.
    ///   - hasUpgradeRecord: Whether an origin has an HTTPS record, which changes the target in the same way (RFC 9460 §9.5).
    static func next(
        after hop: HopRequest,
        response: HTTPResponse,
        rules: RedirectRules = RedirectRules(),
        keepsCredentials: Bool = false,
        hsts: HSTSStore? = nil,
        hasUpgradeRecord: (Origin) -> Bool = { _ in false }
    ) throws(BeelineError) -> HopRequest? {
        guard applies(to: response), let location = response.headerFields.location, !location.isEmpty else {
            return nil
        }
        guard !rules.refusesExtraSlashes || !hasExtraSlashes(location) else {
            throw BeelineError(
                .malformedURL,
                "\(hop.url) redirects to a URL that cannot be requested: it has more than three slashes before its host"
            )
        }
        var next = hop
        next.wire.target = nil
        let reference = rules.writesPlusForSpace ? withPlusInQuery(location) : location
        next.go(to: try resolve(reference, from: hop), hsts: hsts)
        // Before a record changes the scheme: whether the record is already in the cache must not decide.
        guard rules.schemes.contains(next.url.origin.scheme) else {
            throw BeelineError(
                .unsupportedScheme,
                "\(hop.url) redirects to \(next.url); RedirectRules.schemes does not allow its scheme"
            )
        }
        if hasUpgradeRecord(next.url.origin) { _ = next.upgradeByRecord() }
        if changesToGet(after: hop, status: response.status.code, rules: rules) {
            if !rules.keepsMethod { next.method = .get }
            next.body = .none
            next.fields[.expect] = nil
            for name in next.fields.map(\.name) where name.canonicalName.hasPrefix("content-") {
                next.fields[name] = nil
            }
        }
        let isElsewhere = next.url.origin != hop.url.origin
        if isElsewhere {
            next.fields[.proxyAuthorization] = nil
            next.authority = nil
            next.cookieHost = nil
        }
        if isElsewhere, !keepsCredentials {
            next.fields[.authorization] = nil
            next.credentials = nil
            next.explicitCookies = nil
        }
        // The user of a URL is for its origin only, as in curl.
        if isElsewhere, isUser(of: hop.url, hop.credentials) { next.credentials = nil }
        // A target's own user overrides the credentials. A relative target only repeats the user of the previous URL.
        if isElsewhere || (next.url.user, next.url.password) != (hop.url.user, hop.url.password) {
            next.credentials = next.url.credentials ?? next.credentials
        }
        let isDowngrade = hop.url.origin.scheme.isSecure && !next.url.origin.scheme.isSecure
        if isDowngrade, rules.sendsReferer || !rules.keepsReferer {
            next.fields[.referer] = nil
        } else if rules.sendsReferer {
            next.fields[.referer] = hop.url.origin.serialized + hop.url.target
        }
        return next
    }

    /// Whether the credentials are the user and password of a URL, with any scheme.
    private static func isUser(of url: HTTPURL, _ credentials: Credentials?) -> Bool {
        guard let user = url.user, let credentials else { return false }
        let password = url.password ?? ""
        let forms: [Credentials] = [
            .basic(user: user, password: password), .digest(user: user, password: password),
            .any(user: user, password: password),
        ]
        return forms.contains(credentials)
    }

    /// Whether the next request is a GET without a body (RFC 9110 §15.4.2 to §15.4.4).
    private static func changesToGet(after hop: HopRequest, status: Int, rules: RedirectRules) -> Bool {
        switch status {
        case 301, 302, 303:
            if hop.method == .post || rules.countsAsPost && !hop.body.isNone {
                return !rules.keepsPost.contains(status)
            }
            return status == 303 && hop.method != .head
        default: return false
        }
    }

    /// Whether the status is a redirect that a request can follow.
    static func applies(to response: HTTPResponse) -> Bool {
        switch response.status.code {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    /// Whether the reference has more than three slashes before its host.
    private static func hasExtraSlashes(_ location: String) -> Bool {
        var rest = location[...]
        if let colon = rest.firstIndex(of: ":"), Scheme(rest[..<colon].lowercased()) != nil {
            rest = rest[rest.index(after: colon)...]
        }
        return rest.prefix { $0 == "/" || $0 == "\\" }.count > 3
    }

    /// The reference with `+` for each space of its query.
    private static func withPlusInQuery(_ location: String) -> String {
        let parts = location.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let mark = first.firstIndex(of: "?") else { return location }
        let query = first[mark...].replacing(" ", with: "+")
        return ([first[..<mark] + query] + parts.dropFirst()).joined(separator: "#")
    }

    private static func resolve(_ location: String, from hop: HopRequest) throws(BeelineError) -> HTTPURL {
        do {
            return try hop.url.resolving(location)
        } catch {
            throw BeelineError(
                error.code == .unsupportedScheme ? .unsupportedScheme : .malformedURL,
                "\(hop.url) redirects to a URL that cannot be requested: \(error.message)"
            )
        }
    }
}

extension HTTPFields {
    /// The value of `Location`, with percent-encoded octets where it is not UTF-8, because U+FFFD would lead to another URL.
    /// The first of several: ``Engine`` refuses different values. Nil without the field.
    package var location: String? {
        first { $0.name == .location }.map { field in
            PercentEncoding.urlText(field.withUnsafeBytesOfValue { Array($0) })
        }
    }
}
