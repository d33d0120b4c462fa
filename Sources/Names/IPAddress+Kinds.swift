// SPDX-License-Identifier: Apache-2.0

/// Classification of addresses. An IPv4-mapped address (`::ffff:127.0.0.1`) is classified as its IPv4 address, because sockets
/// connect to that address. The mapped form therefore cannot bypass a rule.
extension IPAddress {
    /// 127.0.0.0/8 (RFC 1122 §3.2.1.3) or ::1 (RFC 4291 §2.5.3).
    package var isLoopback: Bool { isAny(of: Kinds.loopback) }

    /// 0.0.0.0 (RFC 1122 §3.2.1.3) or :: (RFC 4291 §2.5.2). A socket that connects to it reaches this machine.
    package var isUnspecified: Bool { unmapped.high == 0 && unmapped.low == 0 }

    /// 224.0.0.0/4 (RFC 5771) or ff00::/8 (RFC 4291 §2.7).
    package var isMulticast: Bool { isAny(of: Kinds.multicast) }

    /// 255.255.255.255 (RFC 919 §7).
    package var isBroadcast: Bool { unmapped == IPAddress(v4: .max) }

    /// 169.254.0.0/16 (RFC 3927) or fe80::/10 (RFC 4291 §2.5.6).
    package var isLinkLocal: Bool { isAny(of: Kinds.linkLocal) }

    /// 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 (RFC 1918) or a unique local address, fc00::/7 (RFC 4193).
    package var isPrivate: Bool { isAny(of: Kinds.privateUse) }

    /// 100.64.0.0/10, shared address space for carrier-grade NAT (RFC 6598).
    package var isShared: Bool { isAny(of: Kinds.shared) }

    /// 192.0.2.0/24, 198.51.100.0/24, 203.0.113.0/24 (RFC 5737), 2001:db8::/32 (RFC 3849) or 3fff::/20 (RFC 9637).
    package var isDocumentation: Bool { isAny(of: Kinds.documentation) }

    /// The addresses of cloud metadata services, which return a machine's credentials: 169.254.169.254 (most clouds),
    /// fd00:ec2::254 (Amazon), fd20:ce::254 (Google), 100.100.100.200 (Aliyun). A proxy for other users must not connect to
    /// them. A NAT64 or 6to4 address is judged as its embedded IPv4 address, too.
    package var isMetadata: Bool { isAny(of: Kinds.metadata) || unmapped.translated?.isAny(of: Kinds.metadata) == true }

    /// Whether the address is reachable from the whole internet, by the column "Globally Reachable" of IANA's registries of
    /// special-purpose addresses (RFC 6890, RFC 8190). False for multicast and for unallocated IPv6 addresses.
    ///
    /// The result for a NAT64 address, 64:ff9b::/96 (RFC 6052), or a 6to4 address, 2002::/16 (RFC 3056), is that of its
    /// embedded IPv4 address.
    package var isGloballyReachable: Bool {
        if let embedded = unmapped.translated { return embedded.isGloballyReachable }
        if isAny(of: Kinds.reachableInside) { return true }
        return isAny(of: Kinds.unicast) && !isAny(of: Kinds.unreachable)
    }

    /// Whether the address is an IPv4-mapped IPv6 address, ::ffff:0:0/96 (RFC 4291 §2.5.5.2).
    package var isV4Mapped: Bool { family == .v6 && high == 0 && low >> 32 == 0xffff }

    /// The IPv4 address of an IPv4-mapped address; any other address unchanged.
    public var unmapped: IPAddress { isV4Mapped ? IPAddress(v4: UInt32(truncatingIfNeeded: low)) : self }

    /// The address that stands for a subscriber: an IPv4 address, or the first address of an IPv6 /64 network.
    package var ofSubscriber: IPAddress {
        let address = unmapped
        guard address.family == .v6, let network = IPNetwork(address, prefixLength: 64) else { return address }
        return network.first
    }

    /// The IPv4 address embedded in a NAT64 or 6to4 address; nil for any other address.
    package var translated: IPAddress? {
        guard family == .v6 else { return nil }
        if high == 0x64_ff9b << 32, low >> 32 == 0 { return IPAddress(v4: UInt32(truncatingIfNeeded: low)) }
        if high >> 48 == 0x2002 { return IPAddress(v4: UInt32(truncatingIfNeeded: high >> 16)) }
        return nil
    }

    private func isAny(of networks: [IPNetwork]) -> Bool {
        let address = unmapped
        return networks.contains { $0.contains(address) }
    }
}

/// The networks of each kind, parsed once.
private enum Kinds {
    static let loopback = IPNetwork.list("127.0.0.0/8 ::1/128")
    static let multicast = IPNetwork.list("224.0.0.0/4 ff00::/8")
    static let linkLocal = IPNetwork.list("169.254.0.0/16 fe80::/10")
    static let privateUse = IPNetwork.list("10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7")
    static let shared = IPNetwork.list("100.64.0.0/10")
    static let documentation = IPNetwork.list("192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20")
    static let metadata = IPNetwork.list("169.254.169.254/32 100.100.100.200/32 fd00:ec2::254/128 fd20:ce::254/128")

    /// All of IPv4, and the IPv6 block that IANA allocates global unicast addresses from.
    static let unicast = IPNetwork.list("0.0.0.0/0 2000::/3")
    static let unreachable =
        privateUse + shared + loopback + multicast + linkLocal + documentation
        + IPNetwork.list("0.0.0.0/8 192.0.0.0/24 192.88.99.0/24 198.18.0.0/15 240.0.0.0/4 2001::/23")
    /// Reachable networks inside an unreachable range: RFC 7723, RFC 8155, RFC 9665, RFC 7450, RFC 7535, RFC 7343, RFC 9374.
    static let reachableInside = IPNetwork.list(
        """
        192.0.0.9/32 192.0.0.10/32 2001:1::1/128 2001:1::2/128 2001:1::3/128 2001:3::/32 2001:4:112::/48 2001:20::/28 \
        2001:30::/28
        """
    )
}
