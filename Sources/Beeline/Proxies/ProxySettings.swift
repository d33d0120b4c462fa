// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
public import Names

/// Which proxy carries a request. A proxy is given the name, and HTTPDNS steps aside.
public struct ProxySettings: Sendable, Hashable {
    /// The proxy for `http` and `ws` origins; nil: none.
    public var http: Proxy?
    /// The proxy for `https` and `wss` origins; nil: none.
    public var https: Proxy?
    /// Origins that are reached without a proxy.
    public var exceptions = ProxyExceptions()
    /// What named a proxy that cannot be used, for each of both kinds of origins: nothing goes past it.
    var unusable: Unusable?

    /// Whether nothing is set, not even what cannot be used: requests must not go past a proxy that was meant.
    package var namesNoProxy: Bool { http == nil && https == nil && unusable == nil }

    struct Unusable: Sendable, Hashable {
        var http: String?
        var https: String?
    }

    /// No proxy.
    public static let none = ProxySettings()

    /// Settings of parts.
    public init(http: Proxy? = nil, https: Proxy? = nil, exceptions: ProxyExceptions = ProxyExceptions()) {
        self.http = http
        self.https = https
        self.exceptions = exceptions
    }

    /// The way to an origin.
    public func route(to origin: Origin) -> Route {
        guard let proxy = origin.scheme.isSecure ? https : http, !exceptions.contains(origin) else { return .direct }
        return .proxy(proxy)
    }

    /// Why an origin is not to be reached at all: there should be a proxy on the way, and nobody can say which.
    package func problem(with origin: Origin) -> String? {
        guard let unusable else { return nil }
        let (proxy, name) = origin.scheme.isSecure ? (https, unusable.https) : (http, unusable.http)
        guard proxy == nil, let name, !exceptions.contains(origin) else { return nil }
        return "\(name) names no proxy that can be used: write http://HOST:PORT, https:// or socks5h://, or unset it"
    }
}
