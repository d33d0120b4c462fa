// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
package import Names

/// Chooses the proxy of a request. A proxied request sends the host name to the proxy and does not use HTTPDNS.
public struct ProxySettings: Sendable, Hashable {
    /// The proxy for `http` and `ws` origins; `nil` for none.
    public var http: Proxy?
    /// The proxy for `https` and `wss` origins; `nil` for none.
    public var https: Proxy?
    /// Origins that are reached without a proxy.
    public var exceptions = ProxyExceptions()
    /// The environment variables whose values are not usable proxies. Requests that need them fail.
    var unusable: Unusable?

    /// Whether no proxy is set, not even an unusable one: requests must not bypass an intended proxy.
    package var namesNoProxy: Bool { http == nil && https == nil && unusable == nil }

    struct Unusable: Sendable, Hashable {
        var http: String?
        var https: String?
    }

    /// No proxy.
    public static let none = ProxySettings()

    /// Creates settings from their parts.
    public init(http: Proxy? = nil, https: Proxy? = nil, exceptions: ProxyExceptions = ProxyExceptions()) {
        self.http = http
        self.https = https
        self.exceptions = exceptions
    }

    package func route(to origin: Origin) -> Route {
        guard let proxy = origin.scheme.isSecure ? https : http, !exceptions.contains(origin) else { return .direct }
        return .proxy(proxy)
    }

    /// Explains why an origin is not reachable: its proxy setting is not usable. `nil` if there is no problem.
    func problem(with origin: Origin) -> String? {
        guard let unusable else { return nil }
        let (proxy, name) = origin.scheme.isSecure ? (https, unusable.https) : (http, unusable.http)
        guard proxy == nil, let name, !exceptions.contains(origin) else { return nil }
        return "the value of \(name) is not a usable proxy: write http://HOST:PORT, https:// or socks5h://, or unset it"
    }
}
