// SPDX-License-Identifier: Apache-2.0

/// The scheme, host and port of a request's target (RFC 9110 §4.3.1, RFC 6454).
///
/// The origin decides the Host header, the TLS server name, the certificate check, the cookies and which connections a request
/// may use. The address that a socket connects to is not part of it; that is an ``Endpoint``.
///
/// Two URLs have the same origin if their origins are equal (RFC 6454 §5).
public struct Origin: Hashable, Sendable, CustomStringConvertible {
    /// The scheme of the URL, without the colon.
    public let scheme: Scheme
    // This order of fields leaves no padding between them.
    /// The port of the URL, or the scheme's default port.
    public let port: UInt16
    /// The canonical host of the URL.
    public let host: Host

    /// Creates an origin; a nil `port` means the scheme's default port.
    public init(scheme: Scheme, host: Host, port: UInt16? = nil) {
        self.scheme = scheme
        self.host = host
        self.port = port ?? scheme.defaultPort
    }

    /// `host` or `host:port`, as the Host header and `:authority` carry it. The scheme's default port and the host's zone are
    /// omitted.
    public var authority: String {
        var host = host.urlForm
        guard port != scheme.defaultPort else { return host }
        return host.withOctets { host in
            // Build the string at once; each append to a string costs as much as this whole block.
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

    /// The origin as the `Origin` header carries it (RFC 6454 §6.2): `https://www.example.com`, with the port if it is not the
    /// scheme's default.
    package var serialized: String { "\(scheme.name)://\(authority)" }

    /// The origin of the HTTP request that opens a WebSocket (RFC 6455 §4.1): `https` for `wss` and `http` for `ws`. HTTP
    /// origins are unchanged. Cookies, connections and stored credentials use this origin.
    package var httpEquivalent: Origin {
        switch scheme {
        case .ws: Origin(scheme: .http, host: host, port: port)
        case .wss: Origin(scheme: .https, host: host, port: port)
        case .http, .https: self
        }
    }

    /// `https://www.example.com`: the scheme and the host, with the host's zone if it has one, and the port unless it
    /// is the scheme's default (RFC 6454 §6.2).
    public var description: String {
        guard host.zone != nil else { return serialized }
        return "\(scheme.name)://\(host)" + (port == scheme.defaultPort ? "" : ":\(port)")
    }
}

/// A URL scheme that uses HTTP.
public enum Scheme: Hashable, Sendable, CaseIterable {
    /// HTTP without TLS.
    case http
    /// HTTP over TLS.
    case https
    /// WebSocket without TLS (RFC 6455).
    case ws
    /// WebSocket over TLS.
    case wss

    /// The scheme's name in a URL.
    public var name: String {
        switch self {
        case .http: "http"
        case .https: "https"
        case .ws: "ws"
        case .wss: "wss"
        }
    }

    /// 443 with TLS, else 80.
    public var defaultPort: UInt16 { isSecure ? 443 : 80 }

    /// Whether the scheme uses TLS.
    public var isSecure: Bool { self == .https || self == .wss }

    /// Reads a scheme's name in any case; nil if the scheme is not supported.
    public init?(_ name: some StringProtocol) {
        self.init(bytes: name.utf8)
    }

    init?(bytes: some Collection<UInt8>) {
        // Setting bit 0x20 maps an upper-case letter to lower case. It maps no other character to one of these letters.
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
