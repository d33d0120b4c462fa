// SPDX-License-Identifier: Apache-2.0

import Names

/// The number of connections of each client.
struct ClientTally {
    private var counts: [IPAddress: Int] = [:]

    /// Counts a new connection. Returns false if the client has reached the limit.
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
}
