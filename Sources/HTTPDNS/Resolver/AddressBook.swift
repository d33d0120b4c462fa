// SPDX-License-Identifier: Apache-2.0

import Names

/// Which hosts each address was an answer for.
///
/// An address that is known is known wholly: nothing is forgotten to make room, or an address would seem to serve one host
/// when it serves two. What comes when the book is full is not entered.
struct AddressBook {
    /// Hosts that are named for one address: enough to tell that it is shared, and by whom.
    static let maxHostsPerAddress = 8

    private let maxAddresses: Int
    private var hosts: [IPAddress: [Host]] = [:]

    init(maxAddresses: Int) {
        self.maxAddresses = maxAddresses
    }

    mutating func note(_ addresses: [IPAddress], of host: Host) {
        for address in addresses {
            if let known = hosts[address] {
                if known.count < Self.maxHostsPerAddress, !known.contains(host) { hosts[address] = known + [host] }
            } else if hosts.count < maxAddresses {
                hosts[address] = [host]
            }
        }
    }

    /// The hosts in the order in which they came.
    func hosts(of address: IPAddress) -> [Host] { hosts[address] ?? [] }
}
