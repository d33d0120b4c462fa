// SPDX-License-Identifier: Apache-2.0

public import Names

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The machine's network, as the system tells it: by netlink on Linux, by the path monitor on Apple's systems.
public struct SystemNetworkMonitor: NetworkMonitor {
    /// A monitor; it uses nothing until it is asked.
    public init() {}

    /// The network now: which families have a way out, and from which addresses.
    ///
    /// The kernel is asked which address it would send from to a documentation address (RFC 5737, RFC 3849);
    /// connecting a UDP socket sends nothing.
    public func current() -> Network {
        let v4 = Self.localAddress(towards: IPAddress(v4: 0xc000_0201))
        let v6 = Self.localAddress(towards: IPAddress(v6: 0x2001_0db8_0000_0000, 1))
        var parts: [String] = []
        var families: Families = []
        if let v4, !v4.isLinkLocal {
            families.formUnion(.v4)
            if let network = IPNetwork(v4, prefixLength: 24) { parts.append(network.description) }
        }
        if let v6, !v6.isLinkLocal {
            families.formUnion(.v6)
            if let network = IPNetwork(v6, prefixLength: 64) { parts.append(network.description) }
        }
        return Network(id: parts.joined(separator: " "), families: families, localV6: v6)
    }

    /// The address that the kernel sends from to `destination`; nil where there is no way.
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
        return isV4 ? localV4(handle, destination) : localV6(handle, destination)
    }

    private static func localV4(_ handle: Int32, _ destination: IPAddress) -> IPAddress? {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(53).bigEndian
        withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: destination.octets) }
        guard connected(handle, &address) else { return nil }
        return withUnsafeBytes(of: address.sin_addr) { IPAddress(octets: $0) }
    }

    private static func localV6(_ handle: Int32, _ destination: IPAddress) -> IPAddress? {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = UInt16(53).bigEndian
        withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: destination.octets) }
        guard connected(handle, &address) else { return nil }
        return withUnsafeBytes(of: address.sin6_addr) { IPAddress(octets: $0) }
    }

    /// Connects to an address, and puts the socket's own in its place.
    private static func connected<Address>(_ handle: Int32, _ address: inout Address) -> Bool {
        let size = socklen_t(MemoryLayout<Address>.size)
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                var length = size
                return connect(handle, generic, size) == 0 && getsockname(handle, generic, &length) == 0
            }
        }
    }
}
