// SPDX-License-Identifier: Apache-2.0

public import Names

/// The way to an origin: straight, through a proxy that is given the name, or through a socket of this machine.
public enum Route: Hashable, Sendable {
    /// To the origin's own endpoints.
    case direct
    /// Through a proxy, which is given the name: by CONNECT for https, ws and wss and the whole URL for http
    /// (RFC 9110 §7.2, §9.3.6), or by SOCKS5 for all of them.
    indirect case proxy(Proxy)
    /// To a Unix domain socket, by its path: a daemon on this machine. Host, SNI and certificate stay those of the origin,
    /// nobody is asked for endpoints, and the endpoint that is reported is `0.0.0.0:0`. Not longer than 103 bytes.
    case unixSocket(String)

    /// The proxy; nil where there is none.
    package var proxy: Proxy? {
        if case .proxy(let proxy) = self { proxy } else { nil }
    }
}

/// A proxy: where it is, what it speaks and who we are to it.
public struct Proxy: Hashable, Sendable, CustomStringConvertible {
    /// What a proxy speaks.
    public enum Kind: Hashable, Sendable {
        /// HTTP, over TLS where the proxy's ``Proxy/origin`` is of scheme `https`.
        case http
        /// SOCKS5 (RFC 1928) with user and password by RFC 1929. The name travels, never an address that we looked up:
        /// what curl calls `socks5h`.
        case socks5
    }

    /// What it speaks.
    public var kind: Kind
    /// Where the proxy listens, as its URL names it. Over `https` the proxy's certificate must be one for this host.
    public var origin: Origin
    /// The user, for Basic (RFC 7617), Digest (RFC 7616) or SOCKS5; nil where it asks for none.
    public var user: String?
    /// The password; empty if nil.
    public var password: String?
    /// Whether user and password may be sent to a proxy of HTTP by Basic, which is done unasked; a proxy that asks for Digest
    /// (RFC 7616) instead is given that. False: Digest alone, as with curl's `--proxy-digest`, so that the password is never
    /// sent. Default true.
    public var allowsBasic = true
    /// How TLS with the proxy itself is done. Nil: with the roots and the lowest version of the request, always checked, and
    /// without the request's client certificate and pins, which are for origins.
    public var tls: TLSSettings?

    /// A proxy of parts.
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

    /// Who we are to a proxy of HTTP.
    var credentials: Credentials? {
        user.map { Credentials(kind: allowsBasic ? .basicFirst : .digest, user: $0, secret: password ?? "") }
    }

    /// The `Proxy-Authorization` that is sent unasked; nil where none is.
    package var authorization: String? { credentials?.unaskedField }

    /// The proxy's URL, without user and password.
    public var description: String {
        switch kind {
        case .http: origin.description
        case .socks5: "socks5h://\(origin.host.urlForm):\(origin.port)"
        }
    }
}
