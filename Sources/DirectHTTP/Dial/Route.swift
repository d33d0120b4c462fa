// SPDX-License-Identifier: Apache-2.0

public import Names

/// The way to an origin: straight, or through a proxy that is given the name.
public enum Route: Hashable, Sendable {
    /// To the origin's own endpoints.
    case direct
    /// Through an HTTP proxy: CONNECT for https and wss, the whole URL for http (RFC 9110 §7.2, §9.3.6).
    case proxy(Proxy)
}

/// A proxy: where it is and who we are to it.
public struct Proxy: Hashable, Sendable, CustomStringConvertible {
    /// Where the proxy listens, as its URL names it; the scheme says how it is spoken to (`http`).
    public var origin: Origin
    /// The user for Basic authentication (RFC 7617); nil where it asks for none.
    public var user: String?
    /// The password; empty if nil.
    public var password: String?

    /// A proxy of parts.
    public init(origin: Origin, user: String? = nil, password: String? = nil) {
        self.origin = origin
        self.user = user
        self.password = password
    }

    /// The value of `Proxy-Authorization`; nil where no user is set.
    package var authorization: String? {
        user.map { "Basic " + Base64.encode(Array("\($0):\(password ?? "")".utf8)) }
    }

    /// The proxy's URL, without user and password.
    public var description: String { origin.description }
}
