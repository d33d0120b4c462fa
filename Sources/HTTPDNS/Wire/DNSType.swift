// SPDX-License-Identifier: Apache-2.0

import Names

/// A record type.
package struct DNSType: RawRepresentable, Hashable, Sendable {
    /// The number.
    package let rawValue: UInt16

    /// The type with a number.
    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// The type of addresses of a family.
    init(_ family: IPAddress.Family) { self = family == .v4 ? .a : .aaaa }

    /// An IPv4 address.
    package static let a = DNSType(rawValue: 1)
    /// The canonical name of an alias.
    package static let cname = DNSType(rawValue: 5)
    /// Start of authority.
    package static let soa = DNSType(rawValue: 6)
    /// An IPv6 address (RFC 3596).
    package static let aaaa = DNSType(rawValue: 28)
    /// EDNS (RFC 6891).
    package static let opt = DNSType(rawValue: 41)
    /// A service with its endpoints (RFC 9460).
    package static let svcb = DNSType(rawValue: 64)
    /// A service of HTTP with its endpoints (RFC 9460 §9).
    package static let https = DNSType(rawValue: 65)
}
