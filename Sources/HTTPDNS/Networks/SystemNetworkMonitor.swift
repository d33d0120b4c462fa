// SPDX-License-Identifier: Apache-2.0

import LibC
import Names

/// The machine's network, watched with netlink on Linux and with the path monitor on Apple platforms.
package struct SystemNetworkMonitor: NetworkMonitor {
    /// A monitor; it uses no resources until it is used.
    package init() {}

    /// The current network: the families with a route, and the local addresses.
    ///
    /// It asks the kernel for the local address of a connection to a documentation address (RFC 5737, RFC 3849).
    /// Connecting a UDP socket sends nothing.
    package func current() -> Network {
        let v4 = Self.localAddress(towards: IPAddress(v4: 0xc000_0201))
        let v6 = Self.localAddress(towards: IPAddress(v6: 0x2001_0db8_0000_0000, 1))
        var parts: [String] = []
        var families: Families = []
        for (address, prefixLength) in [(v4, 24), (v6, 64)] {
            guard let address, !address.isLinkLocal else { continue }
            families.insert(Families(address.family))
            if let network = IPNetwork(address, prefixLength: prefixLength) { parts.append(network.description) }
        }
        var network = Network(id: parts.joined(separator: " "), families: families, localV6: v6)
        if families.contains(.v4) { network.localV4 = v4 }
        return network
    }

    /// The local address that the kernel uses for `destination`; nil if there is no route.
    static func localAddress(towards destination: IPAddress) -> IPAddress? {
        let isV4 = destination.family == .v4
        #if canImport(Glibc)
        let type = Int32(SOCK_DGRAM.rawValue)
        #else
        let type = SOCK_DGRAM
        #endif
        let handle = socket(isV4 ? AF_INET : AF_INET6, type, 0)
        guard handle >= 0 else { return nil }
        defer { close(handle) }
        return unsafe destination.withSocketAddress(port: 53) { address, size in
            var length = size
            // `getsockname` overwrites the destination with the local address.
            guard unsafe connect(handle, address, size) == 0, unsafe getsockname(handle, address, &length) == 0 else {
                return nil
            }
            return unsafe IPAddress(address)
        }
    }
}
