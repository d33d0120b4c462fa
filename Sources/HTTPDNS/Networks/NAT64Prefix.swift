// SPDX-License-Identifier: Apache-2.0

package import Names

/// The prefix with which an IPv6-only network makes IPv4 hosts reachable (RFC 6052).
package struct NAT64Prefix: Hashable, Sendable, CustomStringConvertible {
    /// The block of the translated addresses.
    package let network: IPNetwork

    /// The valid prefix lengths (RFC 6052 §2.2).
    package static let lengths = [32, 40, 48, 56, 64, 96]

    /// Whether this is the well-known prefix, `64:ff9b::/96` (RFC 6052 §2.1).
    package var isWellKnown: Bool {
        network.prefixLength == 96 && network.first == IPAddress(v6: 0x0064_ff9b_0000_0000, 0)
    }

    /// A name with only known IPv4 addresses, so that its AAAA records reveal the prefix (RFC 7050).
    static let probeName = "ipv4only.arpa"
    private static let probeAddresses: [IPAddress] = [IPAddress(v4: 0xc000_00aa), IPAddress(v4: 0xc000_00ab)]

    /// A prefix; nil for an IPv4 block, an invalid length, or nonzero bits 64 to 71.
    package init?(_ network: IPNetwork) {
        guard network.first.family == .v6, Self.lengths.contains(network.prefixLength),
            network.first.octets[8] == 0
        else { return nil }
        self.network = network
    }

    /// Finds the prefixes in the AAAA records of `ipv4only.arpa` (RFC 7050 §3), by the name's known IPv4 addresses in
    /// them.
    package static func discovered(in records: [IPAddress]) -> [NAT64Prefix] {
        var found: [NAT64Prefix] = []
        for record in records where record.family == .v6 {
            // If the address fits at several places, the longest prefix wins.
            let fits = lengths.reversed().compactMap { length -> NAT64Prefix? in
                guard let network = IPNetwork(record, prefixLength: length), let prefix = NAT64Prefix(network),
                    let inner = prefix.extract(record), probeAddresses.contains(inner)
                else { return nil }
                return prefix
            }
            if let prefix = fits.first, !found.contains(prefix) { found.append(prefix) }
        }
        return found
    }

    /// The IPv6 address for an IPv4 address. Nil for private and shared addresses under the well-known prefix (RFC 6052
    /// §3.1), and for loopback, unspecified, multicast and link-local addresses.
    package func synthesize(_ address: IPAddress) -> IPAddress? {
        guard address.family == .v4, !address.isLoopback, !address.isUnspecified, !address.isMulticast,
            !address.isLinkLocal, !isWellKnown || !(address.isPrivate || address.isShared)
        else { return nil }
        var octets = Array(network.first.octets.prefix(network.prefixLength / 8))
        for octet in address.octets {
            if octets.count == 8 { octets.append(0) }
            octets.append(octet)
        }
        octets += [UInt8](repeating: 0, count: 16 - octets.count)
        return IPAddress(octets: octets)
    }

    /// The IPv4 address in an IPv6 address; nil if it is not under this prefix.
    package func extract(_ address: IPAddress) -> IPAddress? {
        guard network.contains(address) else { return nil }
        let octets = address.octets
        guard octets[8] == 0 else { return nil }
        var inner: [UInt8] = []
        var index = network.prefixLength / 8
        while inner.count < 4 {
            if index != 8 { inner.append(octets[index]) }
            index += 1
        }
        return IPAddress(octets: inner)
    }

    /// The block in its usual form.
    package var description: String { network.description }
}
