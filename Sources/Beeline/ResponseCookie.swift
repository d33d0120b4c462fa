// SPDX-License-Identifier: Apache-2.0

public import CookieJar
import HTTPTypes

/// A cookie that a response set. Its value is a secret: `Hop.cookiesReceived` tells names only.
public struct ResponseCookie: Hashable, Sendable {
    /// The cookie as the response wrote it, with what it left open filled in from the URL: domain and path.
    public let cookie: Cookie
    /// What the jar made of it: a policy or the jar's bounds may refuse a good cookie. nil: the request had no jar to keep it.
    public let outcome: CookieOutcome?

    /// Makes one; for tests of what handles cookies.
    ///
    /// - Parameters:
    ///   - cookie: the cookie.
    ///   - outcome: what the jar made of it.
    public init(_ cookie: Cookie, outcome: CookieOutcome?) {
        self.cookie = cookie
        self.outcome = outcome
    }
}

extension Hop {
    /// The cookies that this hop's response set, in the order of its fields. A field that makes no cookie is not among them:
    /// ``cookiesReceived`` says why.
    public var cookies: [ResponseCookie] {
        response.headerFields[fields: .setCookie].enumerated().compactMap { index, field in
            let outcome = cookiesReceived.indices.contains(index) ? cookiesReceived[index].outcome : nil
            // What a jar took is a cookie.
            let isTaken = outcome == .kept || outcome == .replaced
            let octets = field.withUnsafeBytesOfValue { Array($0) }
            let cookie = try? Cookie(setCookieOctets: octets, from: url, now: receivedAt, acceptsInsecureNone: isTaken)
            return cookie.map { ResponseCookie($0, outcome: outcome) }
        }
    }
}

extension Response {
    /// The cookies that this response set. Those that redirects set on the way to it are in the ``Hop/cookies`` of ``hops``.
    public var cookies: [ResponseCookie] { hop.cookies }
}
