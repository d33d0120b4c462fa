// SPDX-License-Identifier: Apache-2.0

public import Names

/// Options of DNSPod in addition to its form and endpoints.
public struct DNSPodOptions: Sendable, Hashable {
    /// How long an encrypted question is valid, as sent by the service's newer clients; nil: not sent. Default:
    /// nil.
    public var validity: Duration?
    /// Whether to request the client address that the service sees. Default: false.
    public var wantsClientAddress = false
    /// Whether to encrypt a subnet's address like the name, as documented; the service's own clients send it
    /// unencrypted. Default: false.
    public var encryptsSubnet = false
    /// The endpoints to ask for nearer addresses of the service; empty: none are asked. Default: empty.
    public var scheduleEndpoints: [Endpoint] = []

    /// The defaults.
    public init() {}
}
