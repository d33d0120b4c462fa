// SPDX-License-Identifier: Apache-2.0

public import Names

/// The way to an origin: direct, through a proxy, or through a Unix domain socket.
public enum Route: Hashable, Sendable {
    /// To the origin's own endpoints.
    case direct
    /// Through a proxy, which gets the origin by name: with CONNECT for https, ws and wss, with the whole URL for http (RFC 9110
    /// §7.2, §9.3.6), or with SOCKS5 for all schemes.
    indirect case proxy(Proxy)
    /// To the Unix domain socket at this path, at most 103 bytes long. Host, SNI and certificate check stay those of the origin.
    /// No endpoints are resolved, and the reported endpoint is `0.0.0.0:0`.
    case unixSocket(String)

    /// The proxy; nil if there is none.
    package var proxy: Proxy? { if case .proxy(let proxy) = self { proxy } else { nil } }

    /// The proxy that forwards the requests for an origin, which then carry the whole URL; nil if there is none.
    package func forwarder(for origin: Origin) -> Proxy? {
        guard case .proxy(let proxy) = self, proxy.kind == .http, origin.scheme == .http else { return nil }
        return proxy
    }
}

/// A proxy: its address, its protocol and the credentials for it.
public struct Proxy: Hashable, Sendable, CustomStringConvertible {
    /// The protocol of a proxy.
    public enum Kind: Hashable, Sendable {
        /// HTTP, over TLS if the scheme of the proxy's ``Proxy/origin`` is `https`.
        case http
        /// SOCKS5 (RFC 1928) with a user and password (RFC 1929). The proxy resolves the name; curl calls this `socks5h`.
        case socks5
    }

    /// The protocol.
    public var kind: Kind
    /// The origin of the proxy's URL. Over `https` the proxy's certificate must be valid for this host.
    public var origin: Origin
    /// The user for Basic (RFC 7617), Digest (RFC 7616) or SOCKS5; nil without authentication.
    public var user: String?
    /// The password; nil means empty.
    public var password: String?
    /// Whether an HTTP proxy may get user and password by Basic. Basic is sent without waiting for a challenge; if the proxy then
    /// asks for Digest (RFC 7616), Digest is used. False: only Digest is used, as with curl's `--proxy-digest`, so that the
    /// password is never sent. Default true.
    public var allowsBasic = true
    /// The TLS settings for the connection to the proxy. Nil: the request's roots and minimum version, with certificate checks
    /// always on and without the request's client certificate and pins, which are for origins.
    public var tls: TLSSettings?

    /// Creates a proxy.
    public init(
        _ kind: Kind = .http,
        origin: Origin,
        user: String? = nil,
        password: String? = nil,
        tls: TLSSettings? = nil
    ) {
        self.kind = kind
        self.origin = origin
        self.user = user
        self.password = password
        self.tls = tls
    }

    /// The credentials for an HTTP proxy; nil without a user.
    var credentials: Credentials? {
        user.map { Credentials(kind: allowsBasic ? .basicFirst : .digest, user: $0, secret: password ?? "") }
    }

    /// The `Proxy-Authorization` that is sent without a challenge; nil if there is none.
    package var authorization: String? { credentials?.unaskedField }

    /// The proxy's URL without user and password.
    public var description: String {
        switch kind {
        case .http: origin.description
        case .socks5: "socks5h://\(origin.host.urlForm):\(origin.port)"
        }
    }
}
