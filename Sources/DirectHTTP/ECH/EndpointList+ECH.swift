// SPDX-License-Identifier: Apache-2.0

import Names

extension EndpointList {
    /// Removes the endpoints without a configuration, if ECH is required for a connection. They are not dialled, and do not count
    /// as failed.
    ///
    /// - Throws: ``DirectHTTPError`` with code `echFailed` if none is left.
    mutating func requireECH(for key: PoolKey) throws(DirectHTTPError) {
        guard key.tls.requiresECH, key.origin.scheme.isSecure else { return }
        // An HTTPS record describes the origin's own endpoints, not those of a proxy.
        let services = key.route == .direct ? services : [:]
        endpoints.removeAll { key.tls.echList(for: services[$0]) == nil }
        guard endpoints.isEmpty else { return }
        throw DirectHTTPError(
            .echFailed,
            "ECH is required, and no address of \(key.origin) has an ECH configuration from an authenticated source: use DNS over "
                + "HTTPS, or set TLSSettings.ech to configured or automatic"
        )
    }
}
