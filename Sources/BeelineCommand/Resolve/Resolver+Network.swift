// SPDX-License-Identifier: Apache-2.0

import Beeline

extension Resolver {
    /// Finds the NAT64 of a network of IPv6 alone, through which IPv4 hosts and upstreams are reached, for a command that is over
    /// before the network changes.
    func enterNetworkOfIPv6Alone() async {
        guard let network = configuration.networkMonitor?.current(), network.families == .v6 else { return }
        await networkChanged(to: network)
    }
}
