// SPDX-License-Identifier: Apache-2.0

/// An IPv4 or IPv6 address, stored as 128 bits. Parsing, comparing and printing need no system call.
public struct IPAddress: Hashable, Sendable {
    /// The address families.
    public enum Family: Hashable, Sendable, CaseIterable {
        /// 32 bits.
        case v4
        /// 128 bits.
        case v6
    }

    /// The family.
    public let family: Family
    /// Bits 127…64 of an IPv6 address; zero for IPv4.
    package let high: UInt64
    /// Bits 63…0 of an IPv6 address; the 32 bits of an IPv4 address.
    package let low: UInt64

    init(family: Family, high: UInt64, low: UInt64) {
        self.family = family
        self.high = high
        self.low = low
    }

    /// Creates an IPv4 address from 32 bits, most significant octet first.
    public init(v4 bits: UInt32) {
        self.init(family: .v4, high: 0, low: UInt64(bits))
    }

    /// Creates an IPv6 address from two halves, most significant first.
    public init(v6 high: UInt64, _ low: UInt64) {
        self.init(family: .v6, high: high, low: low)
    }

    /// Creates an address from 4 or 16 octets in network order; nil for any other count.
    public init?(octets: some Collection<UInt8>) {
        switch octets.count {
        case 4:
            self.init(v4: octets.reduce(0) { $0 << 8 | UInt32($1) })
        case 16:
            let middle = octets.index(octets.startIndex, offsetBy: 8)
            self.init(
                v6: octets[..<middle].reduce(0) { $0 << 8 | UInt64($1) },
                octets[middle...].reduce(0) { $0 << 8 | UInt64($1) }
            )
        default:
            return nil
        }
    }

    /// The 4 or 16 octets in network order.
    public var octets: [UInt8] {
        switch family {
        case .v4: (0..<4).reversed().map { UInt8(truncatingIfNeeded: low >> ($0 * 8)) }
        case .v6:
            (0..<16).reversed().map { UInt8(truncatingIfNeeded: ($0 < 8 ? low : high) >> (($0 & 7) * 8)) }
        }
    }
}
