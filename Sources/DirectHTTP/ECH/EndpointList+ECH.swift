// SPDX-License-Identifier: Apache-2.0

import Names

/// The ends of error messages that name a setting of ECH. The command replaces them with its own options.
package enum ECHRemedy: String, CaseIterable, Sendable {
    case turnOff = "TLSSettings.ech = .off shows the server name instead"
    case configure = "set TLSSettings.ech to configured, with a list of the site, or to automatic"
}

extension EndpointList {
    /// If ECH is required for a connection, removes the endpoints without a configuration. They are not dialled, and do
    /// not count as failed.
    ///
    /// - Throws: ``DirectHTTPError`` with code `echFailed` if none is left.
    mutating func requireECH(for key: PoolKey) throws(DirectHTTPError) {
        guard key.tls.requiresECH, key.origin.scheme.isSecure else { return }
        // An HTTPS record describes the origin's own endpoints, not those of a proxy.
        let services = key.route == .direct ? services : [:]
        let all = endpoints
        endpoints.removeAll { key.tls.echList(for: services[$0]) == nil }
        guard endpoints.isEmpty else { return }
        let reason = Self.reasonWithoutECH(for: key, services: all.compactMap { services[$0] })
        throw DirectHTTPError(.echFailed, "ECH is required for \(key.origin), but \(reason)")
    }

    /// The reason why no endpoint has a usable configuration, and the remedy.
    private static func reasonWithoutECH(for key: PoolKey, services: [EndpointService]) -> String {
        if key.origin.host.dnsName == nil {
            return "the host is not a name of DNS, so there is no server name to encrypt"
        }
        if let max = key.tls.maxVersion, max < .tls13 { return "ECH needs TLS 1.3, which the settings do not allow" }
        let configure = ECHRemedy.configure.rawValue
        if key.route != .direct { return "no HTTPS record describes a proxy or a Unix domain socket: \(configure)" }
        let published = services.filter { $0.echConfigList != nil }
        if published.isEmpty {
            return
                "no configuration is known: no HTTPS record was asked for or arrived in time, or the site publishes none: "
                + configure
        }
        if published.contains(where: { !$0.isAuthenticated }) {
            return "its configuration came by plain DNS, where an attacker could change it: use DNS over HTTPS, or "
                + configure
        }
        return "its configuration cannot be used: \(configure)"
    }
}
