// SPDX-License-Identifier: Apache-2.0

extension TLSSettings {
    /// When to encrypt the ClientHello with the server name (Encrypted Client Hello, RFC 9849). Observers then see the
    /// public name of the server's configuration instead.
    ///
    /// A server that cannot decrypt the ClientHello answers with a certificate for the public name, which is verified
    /// like any other. The client then connects once more to the same address, with the configuration that the server
    /// sent.
    ///
    /// A handshake that fails in another way never leads to one without ECH, for example because a device on the path
    /// drops the ClientHello. Otherwise an attacker could turn ECH off. It is a failed attempt at that address.
    public enum ECH: Hashable, Sendable {
        /// Never.
        case off
        /// If an HTTPS record of the origin has a configuration. If the server has turned ECH off, as its certificate
        /// for the public name confirms, the client connects without ECH for ten minutes. A configuration from plain
        /// DNS is used too, because it reveals no more than a handshake without ECH. If
        /// ``TLSSettings/verifiesCertificate`` is false, ECH is not used: the client could not trust a server that
        /// reports other keys or has turned ECH off.
        case automatic
        /// Always. Otherwise the connection fails with code `echFailed`. Configurations from plain DNS, which an
        /// attacker may have changed, are not used, and the client does not connect to their addresses.
        case required
        /// Always, with this list instead of the one in an HTTPS record. Otherwise the connection fails with code
        /// `echFailed`. It applies to every origin, also through a proxy. A server's retry configurations are used as
        /// well.
        case configured(ECHConfigList)
    }

    /// Whether connections without ECH are refused.
    var requiresECH: Bool {
        switch ech {
        case .required, .configured: true
        case .off, .automatic: false
        }
    }

    /// The configurations to use for an endpoint; nil if there are none or the settings exclude them.
    package func echList(for service: EndpointService?) -> ECHConfigList? {
        if case .configured(let list) = ech { return hasECH ? list : nil }
        guard usesECHOfRecords, let service, let bytes = service.echConfigList,
            ech == .automatic || service.isAuthenticated
        else { return nil }
        // A malformed list is the same as none (RFC 9848 §4).
        return try? ECHConfigList(bytes)
    }

    package var usesECHOfRecords: Bool {
        switch ech {
        case .off, .configured: false
        case .required: hasECH
        // Without verification a rejection cannot be believed, so that a device that intercepts TLS would end every connection.
        case .automatic: hasECH && verifiesCertificate
        }
    }

    /// TLS 1.2 has no ECH.
    private var hasECH: Bool { maxVersion.map { $0 >= .tls13 } ?? true }
}
