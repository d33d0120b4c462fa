// SPDX-License-Identifier: Apache-2.0

import Beeline

extension Resolver {
    /// Discovers NAT64 in an IPv6-only network, so that IPv4 hosts and upstreams can be reached. It is for short
    /// commands that do not watch the network.
    func enterNetworkOfIPv6Alone() async {
        guard let network = configuration.network.monitor?.current(), network.families == .v6 else { return }
        await networkChanged(to: network)
    }
}
