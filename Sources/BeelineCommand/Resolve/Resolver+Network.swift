// SPDX-License-Identifier: Apache-2.0

import Beeline

extension Resolver {
    /// Discovers NAT64 on an IPv6-only network, to reach IPv4 hosts and upstreams. For short commands that do not monitor the
    /// network.
    func enterNetworkOfIPv6Alone() async {
        guard let network = configuration.network.monitor?.current(), network.families == .v6 else { return }
        await networkChanged(to: network)
    }
}
