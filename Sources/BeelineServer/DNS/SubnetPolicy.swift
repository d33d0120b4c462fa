// SPDX-License-Identifier: Apache-2.0

import Names

/// Determines which networks of clients are sent to upstreams.
struct SubnetPolicy: Sendable {
    /// The longest prefixes, for IPv4 and IPv6 (RFC 7871 §11.1).
    var prefixes: (v4: Int, v6: Int)

    static let standard = SubnetPolicy(prefixes: (24, 56))

    /// The network cut to the longest allowed prefix. Nil for a prefix of length 0.
    func allowed(_ subnet: IPNetwork) -> IPNetwork? {
        guard subnet.prefixLength > 0 else { return nil }
        let limit = subnet.first.family == .v4 ? prefixes.v4 : prefixes.v6
        return IPNetwork(subnet.first, prefixLength: min(subnet.prefixLength, limit))
    }
}
