// SPDX-License-Identifier: Apache-2.0

public import Names

/// A set of address families.
public struct Families: OptionSet, Hashable, Sendable, CustomStringConvertible {
    /// The bits.
    public let rawValue: UInt8

    /// The set with these bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// IPv4: A records.
    public static let v4 = Families(rawValue: 1)
    /// IPv6: AAAA records.
    public static let v6 = Families(rawValue: 2)
    /// IPv4 and IPv6.
    public static let both: Families = [.v4, .v6]

    /// The set with one family.
    public init(_ family: IPAddress.Family) {
        self = family == .v4 ? .v4 : .v6
    }

    /// The families in the set, IPv6 first as in RFC 6724.
    public var members: [IPAddress.Family] {
        switch self {
        case .v4: Self.onlyV4
        case .v6: Self.onlyV6
        case .both: Self.bothInOrder
        default: []
        }
    }

    // Constants, because every lookup reads them several times.
    private static let onlyV4 = [IPAddress.Family.v4]
    private static let onlyV6 = [IPAddress.Family.v6]
    private static let bothInOrder = [IPAddress.Family.v6, .v4]

    /// `IPv4`, `IPv6` or `IPv4 and IPv6`.
    public var description: String {
        switch self {
        case .v4: "IPv4"
        case .v6: "IPv6"
        case .both: "IPv4 and IPv6"
        default: "no family"
        }
    }
}
