// SPDX-License-Identifier: Apache-2.0

import CookieJar
import DirectHTTP
import HTTPTypes
import Names

/// Creates the request that follows a redirect (RFC 9110 §15.4).
enum Redirect {
    /// Returns the next hop; `nil` if the response is not a redirect or has no `Location`.
    ///
    /// - Parameters:
    ///   - keepsCredentials: Whether another origin may receive the credentials.
    ///   - hsts: The hosts that require TLS. They change the target before it is compared with the previous URL.
    static func next(
        after hop: HopRequest,
        response: HTTPResponse,
        keepsCredentials: Bool = false,
        hsts: HSTSStore? = nil
    ) throws(BeelineError) -> HopRequest? {
        guard applies(to: response), let location = response.headerFields[.location], !location.isEmpty else {
            return nil
        }
        var next = hop
        next.go(to: try resolve(location, from: hop), hsts: hsts)
        let status = response.status.code
        if status == 303 && hop.method != .head || status < 303 && hop.method == .post {
            next.method = hop.method == .head ? .head : .get
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
        }
        if isElsewhere, !keepsCredentials {
            next.fields[.authorization] = nil
            next.credentials = nil
            // The caller's cookies may reach another origin of the same site, but not another site.
            if Site(of: next.url) != Site(of: hop.url) { next.explicitCookies = nil }
        }
        // A target's own user overrides the credentials. A relative target only repeats the user of the previous URL.
        if isElsewhere || (next.url.user, next.url.password) != (hop.url.user, hop.url.password) {
            next.credentials = next.url.credentials ?? next.credentials
        }
        return next
    }

    /// Whether the status is a redirect that a request can follow.
    static func applies(to response: HTTPResponse) -> Bool {
        switch response.status.code {
        case 301, 302, 303, 307, 308: true
        default: false
        }
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
