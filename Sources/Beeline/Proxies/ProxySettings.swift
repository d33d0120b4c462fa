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
}
