// SPDX-License-Identifier: Apache-2.0

import Names

/// The hosts that resolved to each address.
///
/// Entries are never evicted. Without one of its hosts, a shared address would seem to serve a single host. Once the
/// book is full, new addresses are ignored.
struct AddressBook {
    /// Hosts recorded per address; enough to show that an address is shared.
    static let maxHostsPerAddress = 8

    private let maxAddresses: Int
    private var hosts: [IPAddress: [Host]] = [:]

    init(maxAddresses: Int) {
        self.maxAddresses = maxAddresses
    }

    mutating func record(_ addresses: [IPAddress], of host: Host) {
        for address in addresses {
            if let known = hosts[address] {
                if known.count < Self.maxHostsPerAddress, !known.contains(host) { hosts[address] = known + [host] }
            } else if hosts.count < maxAddresses {
                hosts[address] = [host]
            }
        }
    }

    /// The hosts of an address, in the order in which they were recorded.
    func hosts(of address: IPAddress) -> [Host] { hosts[address] ?? [] }
}
