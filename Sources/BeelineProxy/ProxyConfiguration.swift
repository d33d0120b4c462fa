// SPDX-License-Identifier: Apache-2.0

public import HTTPDNS
public import Names

/// The settings and limits of a ``BeelineProxy``.
public struct ProxyConfiguration: Sendable {
    /// The endpoint to listen on. Default 127.0.0.1 with a port chosen by the system.
    ///
    /// An address other than loopback requires ``credentials``.
    public var listen = Endpoint(IPAddress(v4: 0x7f00_0001), port: 0)
    /// The credentials that clients must send; nil for none. Default nil.
    public var credentials: ProxyCredentials?
    /// The rules for destinations.
    public var policy = AccessPolicy()
    /// The limits.
    public var limits = ProxyLimits()
    /// Whether to add a `Via` field to forwarded messages (RFC 9110 §7.6.3). Default false.
    public var addsVia = false
    /// Whether to serve `/proxy.pac`. Default true.
    public var servesPAC = true
    /// The path of a blank page that the proxy serves for every `http` host without asking the site. With it, cookies can be set
    /// in a browser that accepts them only on a page of their host, before the first request to the site. The path must be
    /// secret: use ``unguessablePath()``. Default nil: no page.
    public var blankPagePath: String?
    /// The hosts that the gateway serves, including their subdomains; see ``Gateway``. Default: none, and no gateway.
    public var gatewayHosts: DomainSet = []
    /// Called with each event, on the proxy's event loop. It must not block. Default nil.
    public var onEvent: (@Sendable (ProxyEvent) -> Void)?

    /// Creates the default configuration.
    public init() {}

    /// A new random path for ``blankPagePath``.
    public static func unguessablePath() -> String { "/\(Token.make())" }
}

extension BeelineProxy {
    /// Another name of ``ProxyConfiguration``, for files that import Apple's Network, which has a type of that name. The name
    /// cannot be qualified with the module, because the class has the module's name.
    public typealias Configuration = ProxyConfiguration
}
