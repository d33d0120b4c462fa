// SPDX-License-Identifier: Apache-2.0

extension HTTPURL {
    /// The URL with TLS, as HSTS rewrites it (RFC 6797 §8.3): `https` for `http`, `wss` for `ws`, and port 443 for port 80. Other
    /// ports stay. Nil if the URL has TLS already.
    package var withTLS: HTTPURL? {
        let scheme: Scheme
        switch origin.scheme {
        case .http: scheme = .https
        case .ws: scheme = .wss
        case .https, .wss: return nil
        }
        let port = origin.port == origin.scheme.defaultPort ? nil : origin.port
        return HTTPURL(
            origin: Origin(scheme: scheme, host: origin.host, port: port),
            checkedTarget: target,
            pathCount: pathCount,
            fragment: fragment,
            user: user,
            password: password
        )
    }
}
