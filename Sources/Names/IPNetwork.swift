// SPDX-License-Identifier: Apache-2.0

/// A block of addresses with one prefix (CIDR, RFC 4632; RFC 4291 §2.3).
///
///     let office = IPNetwork("10.1.0.0/16")
///     office?.contains(IPAddress(v4: 0x0a01_0203))  // true: 10.1.2.3
public struct IPNetwork: Hashable, Sendable {
    /// The first address of the block; its bits after the prefix are zero.
    package let first: IPAddress
    /// The number of prefix bits: 0 to 32 or 0 to 128.
    public let prefixLength: Int

    /// The block that contains `address`; nil if `prefixLength` is negative or larger than the family's number of bits.
    public init?(_ address: IPAddress, prefixLength: Int) {
        guard (0...address.family.bits).contains(prefixLength) else { return nil }
        self.prefixLength = prefixLength
        let (high, low) = Self.hostBits(address.family, prefixLength)
        first = IPAddress(family: address.family, high: address.high & ~high, low: address.low & ~low)
    }

    /// The blocks of a list that is separated by spaces. Leaves out those that are not valid.
    package static func list(_ text: String) -> [IPNetwork] {
        text.split(separator: " ").compactMap { IPNetwork(String($0)) }
    }

    /// The last address of the block.
    package var last: IPAddress {
        let (high, low) = Self.hostBits(first.family, prefixLength)
        return IPAddress(family: first.family, high: first.high | high, low: first.low | low)
    }

    /// Whether the block contains the address. An IPv4 block does not contain IPv4-mapped addresses (`::ffff:10.1.2.3`); pass
    /// ``IPAddress/unmapped`` to match them.
    public func contains(_ address: IPAddress) -> Bool {
        let (high, low) = Self.hostBits(first.family, prefixLength)
        return address.family == first.family && address.high & ~high == first.high && address.low & ~low == first.low
    }

    /// The mask of the bits after the prefix.
    private static func hostBits(_ family: IPAddress.Family, _ prefixLength: Int) -> (high: UInt64, low: UInt64) {
        let count = family.bits - prefixLength
        let low = count >= 64 ? UInt64.max : (1 << UInt64(count)) - 1
        return (count > 64 ? (UInt64.max >> UInt64(128 - count)) : 0, low)
    }
}

extension IPNetwork: CustomStringConvertible, LosslessStringConvertible {
    /// Reads `10.0.0.0/8`, `2001:db8::/32`, or a single address, which is a block of one. Bits after the prefix are cleared, as
    /// most tools do. Nil for any other text.
    public init?(_ text: String) {
        guard text.utf8.count <= 64 else { return nil }
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = parts.first.flatMap({ IPAddress(String($0)) }) else { return nil }
        guard parts.count == 2 else {
            self.init(address, prefixLength: address.family.bits)
            return
        }
        // Int() alone would accept a sign and more than three digits.
        guard (1...3).contains(parts[1].utf8.count), parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let length = Int(parts[1])
        else { return nil }
        self.init(address, prefixLength: length)
    }

    /// `10.0.0.0/8` or `2001:db8::/32`.
    public var description: String { "\(first)/\(prefixLength)" }
}

extension IPAddress.Family {
    /// The size of an address in bits: 32 or 128.
    package var bits: Int { self == .v4 ? 32 : 128 }
}
