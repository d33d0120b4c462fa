// SPDX-License-Identifier: Apache-2.0

public import Names

/// What an upstream is asked: the addresses of one name.
public struct Question: Hashable, Sendable {
    /// The name; never an address.
    public var host: Host
    /// The families wanted; at least one. An ``Upstream`` whose ``Upstream/answersOneFamily`` is true gets one at a
    /// time.
    public var families: Families
    /// For whose network the answer is wanted (RFC 7871); nil: the asker's own. Upstreams that cannot say it leave it
    /// out.
    public var subnet: IPNetwork?

    /// A question for the addresses of `host`.
    public init(_ host: Host, families: Families = .both, subnet: IPNetwork? = nil) {
        self.host = host
        self.families = families
        self.subnet = subnet
    }
}
