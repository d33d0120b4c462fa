// SPDX-License-Identifier: Apache-2.0

package import LibC

// Only this file accesses the fields of the C library's socket addresses. The module that declares them depends on what else a
// target imports, and this target imports nothing else.
extension IPAddress {
    /// The address in a socket address; nil for any other family.
    package init?(_ address: UnsafePointer<sockaddr>) {
        switch Int32(unsafe address.pointee.sa_family) {
        case AF_INET:
            self = unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                IPAddress(v4: UInt32(bigEndian: unsafe $0.pointee.sin_addr.s_addr))
            }
        case AF_INET6:
            let address = unsafe address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { v6 in
                unsafe withUnsafeBytes(of: v6.pointee.sin6_addr) { unsafe IPAddress(octets: $0) }
            }
            guard let address else { return nil }
            self = address
        default:
            return nil
        }
    }

    /// Calls `body` with a socket address for this address and its length in octets. `body` may overwrite the socket address.
    package func withSocketAddress<Result>(
        port: UInt16,
        _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) throws -> Result
    ) rethrows -> Result {
        switch family {
        case .v4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            unsafe withUnsafeMutableBytes(of: &address.sin_addr) { unsafe $0.copyBytes(from: octets) }
            return try unsafe Self.withGeneric(&address, body)
        case .v6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            unsafe withUnsafeMutableBytes(of: &address.sin6_addr) { unsafe $0.copyBytes(from: octets) }
            return try unsafe Self.withGeneric(&address, body)
        }
    }

    private static func withGeneric<Address, Result>(
        _ address: inout Address,
        _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) throws -> Result
    ) rethrows -> Result {
        let size = socklen_t(MemoryLayout<Address>.size)
        return try unsafe withUnsafeMutablePointer(to: &address) { pointer in
            try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { try unsafe body($0, size) }
        }
    }
}
