// SPDX-License-Identifier: Apache-2.0

import Names

/// Determines which networks of clients are sent to upstreams.
enum SubnetPolicy {
    /// The network cut to the longest prefix that upstreams get: 24 or 56 (RFC 7871 §11.1). Nil for a prefix of 0.
    static func allowed(_ subnet: IPNetwork) -> IPNetwork? {
        guard subnet.prefixLength > 0 else { return nil }
        let limit = subnet.first.family == .v4 ? 24 : 56
        return IPNetwork(subnet.first, prefixLength: min(subnet.prefixLength, limit))
    }
}
