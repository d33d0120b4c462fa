// SPDX-License-Identifier: Apache-2.0

package import Names

/// A resource record (RFC 1035 §4.1.3).
package struct DNSRecord: Hashable, Sendable {
    /// The owner.
    package var name: DNSName
    /// The class; for OPT, the sender's UDP payload size (RFC 6891 §6.1.2).
    package var recordClass: UInt16
    /// The TTL in seconds; for OPT, extended flags.
    package var ttl: UInt32
    /// The type and content.
    package var data: Content

    /// The content of a record.
    package enum Content: Hashable, Sendable {
        /// A or AAAA, by the address's family.
        case address(IPAddress)
        /// CNAME.
        case alias(DNSName)
        /// SOA.
        case authority(StartOfAuthority)
        /// Any other type, with its raw octets.
        case other(DNSType, [UInt8])
    }

    /// The fields of SOA (RFC 1035 §3.3.13).
    package struct StartOfAuthority: Hashable, Sendable {
        /// The zone's primary name server.
        package var primary: DNSName
        /// The mailbox of the zone's administrator.
        package var mailbox: DNSName
        /// The version of the zone.
        package var serial: UInt32
        /// Seconds between a secondary's checks.
        package var refresh: UInt32
        /// Seconds until a failed check is repeated.
        package var retry: UInt32
        /// Seconds until the zone expires on a secondary.
        package var expire: UInt32
        /// The upper bound of the TTL of negative answers, in seconds (RFC 2308 §4).
        package var minimum: UInt32

        /// The fields in wire order.
        package init(
            primary: DNSName,
            mailbox: DNSName,
            serial: UInt32,
            refresh: UInt32,
            retry: UInt32,
            expire: UInt32,
            minimum: UInt32
        ) {
            self.primary = primary
            self.mailbox = mailbox
            self.serial = serial
            self.refresh = refresh
            self.retry = retry
            self.expire = expire
            self.minimum = minimum
        }
    }

    /// A record of the Internet class, unless specified.
    package init(_ name: DNSName, ttl: UInt32, _ data: Content, recordClass: UInt16 = 1) {
        self.name = name
        self.ttl = ttl
        self.data = data
        self.recordClass = recordClass
    }

    /// The TTL of a message in seconds; zero if its highest bit is set (RFC 2181 §8).
    static func seconds(_ ttl: UInt32) -> UInt32 { ttl > UInt32(Int32.max) ? 0 : ttl }

    /// The record's type.
    package var type: DNSType {
        switch data {
        case .address(let address): address.family == .v4 ? .a : .aaaa
        case .alias: .cname
        case .authority: .soa
        case .other(let type, _): type
        }
    }
}
