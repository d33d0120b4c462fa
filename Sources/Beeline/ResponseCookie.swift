// SPDX-License-Identifier: Apache-2.0

public import CookieJar
import HTTPTypes

/// A cookie that a response set. Its value is a secret.
public struct ResponseCookie: Hashable, Sendable {
    /// The cookie, with a missing domain or path filled in from the URL.
    public let cookie: Cookie
    /// The decision of the jar. A policy or the limits of the jar may reject a valid cookie. `nil` if the request kept
    /// no cookies.
    public let outcome: CookieOutcome?

    /// Creates a response cookie, for tests of code that handles cookies.
    ///
    /// - Parameters:
    ///   - cookie: The cookie.
    ///   - outcome: The decision of the jar.
    public init(_ cookie: Cookie, outcome: CookieOutcome?) {
        self.cookie = cookie
        self.outcome = outcome
    }
}

extension Hop {
    /// The cookies that this hop's response set, in the order of its fields. Fields that are not valid cookies are left
    /// out.
    public var cookies: [ResponseCookie] {
        let fields = response.headerFields[fields: .setCookie]
        // The outcomes of a proxy's challenges come first.
        let first = cookiesReceived.count - fields.count
        return fields.enumerated().compactMap { offset, field in
            let index = first + offset
            let outcome = cookiesReceived.indices.contains(index) ? cookiesReceived[index].outcome : nil
            // A cookie that the jar accepted is valid.
            let isTaken = outcome == .kept || outcome == .replaced
            let octets = field.withUnsafeBytesOfValue { Array($0) }
            let cookie = try? Cookie(setCookieOctets: octets, from: url, now: receivedAt, acceptsInsecureNone: isTaken)
            return cookie.map { ResponseCookie($0, outcome: outcome) }
        }
    }
}

extension Response {
    /// The cookies that this response set. Cookies of redirects before it are in the ``Hop/cookies`` of ``hops``.
    public var cookies: [ResponseCookie] { hop.cookies }
}
