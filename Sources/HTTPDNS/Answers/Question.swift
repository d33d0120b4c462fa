// SPDX-License-Identifier: Apache-2.0

public import Names

/// What an upstream is asked: the addresses of one name.
public struct Question: Hashable, Sendable {
    /// The name; never an address.
    public var host: Host
    /// The families wanted; at least one. An ``Upstream`` whose ``Upstream/answersOneFamily`` is true gets one at a
    /// time.
    public var families: Families

    /// A question for the addresses of `host`.
    public init(_ host: Host, families: Families = .both) {
        self.host = host
        self.families = families
    }
}
