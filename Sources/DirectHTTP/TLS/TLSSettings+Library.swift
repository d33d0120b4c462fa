// SPDX-License-Identifier: Apache-2.0

package import NIOSSL

extension TLSSettings {
    /// The protocols that ALPN offers, in the order of preference.
    var applicationProtocols: [String] {
        guard offersHTTP2 else { return ["http/1.1"] }
        return requiresHTTP2 ? ["h2"] : ["h2", "http/1.1"]
    }

    /// Creates a context with these settings for a protocol other than HTTP.
    ///
    /// - Parameters:
    ///   - applicationProtocols: the ALPN protocols, in order of preference; empty to send none.
    ///   - checksName: as for ``TLSContexts/context(for:checksName:)``; NAT64 may have changed the dialled address.
    package func context(applicationProtocols: [String], checksName: Bool = true) throws -> NIOSSLContext {
        var configuration = try TLSContexts.configuration(self, checksName)
        configuration.applicationProtocols = applicationProtocols
        return try TLSContext(self, configuration).context
    }
}

extension TLSSettings.Version {
    /// The version as swift-nio-ssl names it.
    var library: TLSVersion {
        switch self {
        case .tls10: .tlsv1
        case .tls11: .tlsv11
        case .tls12: .tlsv12
        case .tls13: .tlsv13
        }
    }
}

extension TLSSettings.Group {
    /// The group as swift-nio-ssl names it.
    var library: NIOTLSCurve {
        switch self {
        case .x25519: .x25519
        case .p256: .secp256r1
        case .p384: .secp384r1
        case .p521: .secp521r1
        case .x25519MLKEM768: .x25519_MLKEM768
        }
    }
}
