// SPDX-License-Identifier: Apache-2.0

public import Names

/// Where the connections for some origins lead, in place of their own host and port (curl's `--connect-to`).
public struct ConnectRule: Hashable, Sendable {
    /// The host of the origins that the rule is for; nil for every host.
    public var host: Host?
    /// The port of the origins that the rule is for; nil for every port.
    public var port: UInt16?
    /// The host to connect to; nil for the origin's own.
    public var targetHost: Host?
    /// The port to connect to; nil for the origin's own.
    public var targetPort: UInt16?

    /// Creates a rule.
    public init(host: Host? = nil, port: UInt16? = nil, targetHost: Host? = nil, targetPort: UInt16? = nil) {
        self.host = host
        self.port = port
        self.targetHost = targetHost
        self.targetPort = targetPort
    }

    /// Where the connection for an origin leads; nil if the rule is not for it.
    func target(of origin: Origin) -> Origin? {
        guard host ?? origin.host == origin.host, port ?? origin.port == origin.port else { return nil }
        return Origin(scheme: origin.scheme, host: targetHost ?? origin.host, port: targetPort ?? origin.port)
    }
}
