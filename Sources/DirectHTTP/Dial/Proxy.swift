// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
public import Names

/// A proxy: its address, its protocol and the credentials for it.
public struct Proxy: Hashable, Sendable, CustomStringConvertible {
    /// The protocol of a proxy.
    public enum Kind: Hashable, Sendable {
        /// HTTP, over TLS if the scheme of the proxy's ``Proxy/origin`` is `https`.
        case http
        /// SOCKS5 (RFC 1928), with a user and password (RFC 1929) if they are set. The proxy resolves the name; curl
        /// calls this `socks5h`.
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

    /// Whether the client waits for the challenge of an HTTP proxy before it sends user and password, and then answers with Digest
    /// or Basic, as with curl's `--proxy-anyauth`. ``allowsBasic`` must be true. Default false.
    package var waitsForChallenge = false
    /// Whether an HTTP proxy also tunnels plain `http` and `ws` (curl's `--proxytunnel`). Default false.
    package var tunnelsPlainHTTP = false
    /// Whether the tunnel is requested with HTTP/1.0, as with curl's `--proxy1.0`. Default false.
    package var connectsWithHTTP10 = false
    /// The fields of the request for a tunnel, beside `Host` and `Proxy-Authorization`. The origin never sees them. Default none.
    package var connectFields: HTTPFields = [:]
    /// The fields that are added to requests that the proxy forwards, such as `Proxy-Connection`. A request's own field
    /// with the same name is sent as well. Default none.
    package var forwardedFields: HTTPFields = [:]
    /// A SOCKS5 proxy through which this HTTP proxy is reached, as with curl's `--preproxy`. Its own ``preproxy`` is ignored. Nil for
    /// other kinds of proxies. Default nil.
    package var preproxy: Proxy? {
        get { kind == .http && preproxies.first?.kind == .socks5 ? preproxies.first : nil }
        set { preproxies = newValue.map { [$0] } ?? [] }
    }

    /// The value of ``preproxy``. An array, because a struct cannot hold itself.
    private var preproxies: [Proxy] = []
    /// The origin that a tunnel leads to, if it differs from that of the request.
    package var target: Origin?

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
        user.map {
            let kind: Credentials.Kind = !allowsBasic ? .digest : waitsForChallenge ? .any : .basicFirst
            return Credentials(kind: kind, user: $0, secret: password ?? "")
        }
    }

    /// The origin that the socket connects to: that of ``preproxy``, or this proxy's.
    package var firstOrigin: Origin { preproxy?.origin ?? origin }

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
