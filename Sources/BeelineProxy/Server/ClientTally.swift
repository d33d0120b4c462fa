// SPDX-License-Identifier: Apache-2.0

import Names

/// How many connections each client has.
struct ClientTally {
    private var counts: [IPAddress: Int] = [:]

    /// Counts one more connection; false where the client has as many as it may.
    mutating func add(_ client: IPAddress, limit: Int) -> Bool {
        let count = counts[client, default: 0]
        guard count < limit else { return false }
        counts[client] = count + 1
        return true
    }

    mutating func remove(_ client: IPAddress) {
        guard let count = counts[client] else { return }
        counts[client] = count > 1 ? count - 1 : nil
    }

    /// What counts as one client: an IPv4 address, a /64 of IPv6, which is what one line is given.
    static func client(at address: IPAddress) -> IPAddress {
        let address = address.unmapped
        guard address.family == .v6, let network = IPNetwork(address, prefixLength: 64) else { return address }
        return network.first
    }
}
