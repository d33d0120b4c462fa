// SPDX-License-Identifier: Apache-2.0

package import Names

/// Replaces the host and port for the connections of some origins (curl's `--connect-to`).
package struct ConnectRule: Hashable, Sendable {
    /// The host of the origins; nil for every host.
    package var host: Host?
    /// The port of the origins; nil for every port.
    package var port: UInt16?
    /// The host to connect to; nil for the origin's own.
    package var targetHost: Host?
    /// The port to connect to; nil for the origin's own.
    package var targetPort: UInt16?

    package init(host: Host? = nil, port: UInt16? = nil, targetHost: Host? = nil, targetPort: UInt16? = nil) {
        self.host = host
        self.port = port
        self.targetHost = targetHost
        self.targetPort = targetPort
    }

    /// The host and port to connect to for an origin; nil if the rule does not apply to it.
    package func target(of origin: Origin) -> Origin? {
        guard host ?? origin.host == origin.host, port ?? origin.port == origin.port else { return nil }
        return Origin(scheme: origin.scheme, host: targetHost ?? origin.host, port: targetPort ?? origin.port)
    }
}
