// SPDX-License-Identifier: Apache-2.0

import Names

/// A request for the endpoints of an origin: its addresses and its HTTPS records.
struct OriginRequest: Sendable {
    let addresses: LookupRequest
    /// The name of the records.
    let service: LookupRequest
    let port: UInt16
    /// Whether the records have the same name as the host, so that they are cached with its addresses.
    let isOfHost: Bool
    /// Whether the records determine where to connect. False for `http`: its records show only that there is `https`
    /// (RFC 9460 §9.5).
    let usesRoutes: Bool
    /// Whether connections use the records' keys of Encrypted Client Hello.
    let usesECH: Bool

    /// The port of `https`. Its records have the name of the host.
    private static let defaultPort: UInt16 = 443

    /// Nil if the origin cannot have records: its host is an address or local, or the name would be too long.
    init?(_ origin: Origin, families: Families, usesECH: Bool = true) {
        guard origin.host.address == nil, !origin.host.isLocalhost else { return nil }
        addresses = LookupRequest(host: origin.host, families: families)
        port = origin.port
        self.usesECH = usesECH
        usesRoutes = origin.scheme.isSecure
        // An origin without TLS uses the records of the origin with TLS (RFC 9460 §9.5).
        isOfHost = !usesRoutes && port == origin.scheme.defaultPort || port == Self.defaultPort
        if isOfHost {
            service = addresses
        } else {
            guard let host = try? Host("_\(port)._https.\(origin.host.text)"), host.dnsName != nil else { return nil }
            service = LookupRequest(host: host, families: [])
        }
    }

    /// Whether only the routes may be used, because all have Encrypted Client Hello and this client uses it. The
    /// origin's own addresses are then no fallback: an attacker could block the routes to learn the name (RFC 9848
    /// §5.1). A client without ECH reveals the name on any route, so it keeps the fallback of RFC 9460 §3.
    func needsRoutes(_ routes: [ServiceRoute]) -> Bool {
        usesECH && !routes.isEmpty && routes.allSatisfy(\.hasUsableECH)
    }
}
