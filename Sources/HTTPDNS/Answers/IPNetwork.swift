// SPDX-License-Identifier: Apache-2.0

public import Names

/// A block of addresses: `192.0.2.0/24`, `2001:db8::/32`.
public struct IPNetwork: Hashable, Sendable, CustomStringConvertible {
    /// The first address of the block.
    public let base: IPAddress
    /// How many leading bits all addresses of the block share.
    public let prefixLength: Int

    /// The block of `prefixLength` leading bits of `address`; the bits behind them are cleared. Nil where the family
    /// has fewer bits.
    public init?(_ address: IPAddress, prefixLength: Int) {
        guard (0...(address.family == .v4 ? 32 : 128)).contains(prefixLength) else { return nil }
        self.base = Self.masked(address, prefixLength)
        self.prefixLength = prefixLength
    }

    /// Reads `ADDRESS/BITS`, or one address alone; nil for anything else.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(String(first)) else { return nil }
        var bits = address.family == .v4 ? 32 : 128
        if parts.count == 2 {
            guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(parts[1]) else {
                return nil
            }
            bits = number
        }
        self.init(address, prefixLength: bits)
    }

    /// Whether the address is in the block. An address of the other family never is.
    public func contains(_ address: IPAddress) -> Bool {
        address.family == base.family && Self.masked(address, prefixLength) == base
    }

    /// The text for logs.
    public var description: String { "\(base)/\(prefixLength)" }

    private static func masked(_ address: IPAddress, _ bits: Int) -> IPAddress {
        // A shift by 64 or more gives zero.
        switch address.family {
        case .v4: IPAddress(v4: UInt32(truncatingIfNeeded: address.low) & ~(UInt32.max >> bits))
        case .v6: IPAddress(v6: address.high & ~(UInt64.max >> bits), address.low & ~(UInt64.max >> max(0, bits - 64)))
        }
    }
}
