// SPDX-License-Identifier: Apache-2.0

/// Scheme, host and port that a request is for (RFC 9110 §4.3.1, RFC 6454).
///
/// The origin decides the Host header, the TLS server name, the certificate check, the cookies and which connections a
/// request may use. It never holds an address that was merely dialled: that is an ``Endpoint``.
///
/// Two URLs are of the same origin if their origins are equal (RFC 6454 §5).
public struct Origin: Hashable, Sendable, CustomStringConvertible {
    /// The scheme of the URL, without the colon.
    public let scheme: Scheme
    // In this order there is no gap.
    /// The port of the URL, or the scheme's own.
    public let port: UInt16
    /// The host of the URL, canonical.
    public let host: Host

    /// An origin of parts; `port` nil means the scheme's own.
    public init(scheme: Scheme, host: Host, port: UInt16? = nil) {
        self.scheme = scheme
        self.host = host
        self.port = port ?? scheme.defaultPort
    }

    /// `host` or `host:port`, as the Host header and `:authority` carry it; the scheme's own port and the
    /// host's zone are left out.
    public var authority: String {
        var host = host.urlForm
        guard port != scheme.defaultPort else { return host }
        return host.withOctets { host in
            // In one piece: every text that is appended to another costs as much as this.
            String(capacity: host.count + 6) { text in
                text.append(host)
                text.append(UInt8(ascii: ":"))
                var power: UInt16 = 10_000
                while power > max(port, 1) { power /= 10 }
                while power > 0 {
                    text.append(UInt8(ascii: "0") + UInt8(port / power % 10))
                    power /= 10
                }
            }
        }
    }

    /// The origin as the `Origin` header carries it (RFC 6454 §6.2): `https://www.example.com`, or with the port where it
    /// is not the scheme's own.
    public var serialized: String { "\(scheme.name)://\(authority)" }

    /// The origin of the HTTP request that opens a WebSocket (RFC 6455 §4.1): `https` for `wss` and `http` for `ws`; every
    /// other origin as it is. Cookies, connections and stored credentials go by this one.
    public var httpEquivalent: Origin {
        switch scheme {
        case .ws: Origin(scheme: .http, host: host, port: port)
        case .wss: Origin(scheme: .https, host: host, port: port)
        case .http, .https: self
        }
    }

    /// ``serialized``, with the host's zone where it has one.
    public var description: String {
        guard host.zone != nil else { return serialized }
        return "\(scheme.name)://\(host)" + (port == scheme.defaultPort ? "" : ":\(port)")
    }
}

/// A URL scheme that HTTP serves.
public enum Scheme: Hashable, Sendable, CaseIterable {
    /// HTTP in the clear.
    case http
    /// HTTP over TLS.
    case https
    /// WebSocket in the clear (RFC 6455).
    case ws
    /// WebSocket over TLS.
    case wss

    /// The scheme as a URL writes it.
    public var name: String {
        switch self {
        case .http: "http"
        case .https: "https"
        case .ws: "ws"
        case .wss: "wss"
        }
    }

    /// 443 over TLS, else 80.
    public var defaultPort: UInt16 { isSecure ? 443 : 80 }

    /// Whether TLS carries it.
    public var isSecure: Bool { self == .https || self == .wss }

    /// The scheme of a name, whatever its case.
    public init?(_ name: some StringProtocol) {
        self.init(bytes: name.utf8)
    }

    init?(bytes: some Collection<UInt8>) {
        // A letter differs from its capital in one bit, and no other character becomes one of these letters by it.
        func reads(_ name: String) -> Bool { bytes.elementsEqual(name.utf8) { $0 | 0x20 == $1 } }
        if reads("https") {
            self = .https
        } else if reads("http") {
            self = .http
        } else if reads("wss") {
            self = .wss
        } else if reads("ws") {
            self = .ws
        } else {
            return nil
        }
    }
}
