// SPDX-License-Identifier: Apache-2.0

public import Names

/// A question to an upstream: the addresses of one name.
public struct Question: Hashable, Sendable {
    /// The name; never an address.
    public var host: Host
    /// The families to ask for; at least one. An ``Upstream`` whose ``Upstream/answersOneFamily`` is true gets one at a
    /// time.
    public var families: Families
    /// The network to resolve for (RFC 7871); nil: the client's own. Upstreams that do not support it ignore it.
    public var subnet: IPNetwork?

    /// A question for the addresses of `host`.
    public init(_ host: Host, families: Families = .both, subnet: IPNetwork? = nil) {
        self.host = host
        self.families = families
        self.subnet = subnet
    }
}
