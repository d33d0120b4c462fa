// SPDX-License-Identifier: Apache-2.0

package import Names

/// One resource record (RFC 1035 §4.1.3).
package struct DNSRecord: Hashable, Sendable {
    /// The owner.
    package var name: DNSName
    /// The class; for OPT the sender's UDP payload size (RFC 6891 §6.1.2).
    package var recordClass: UInt16
    /// How long the record may be kept, in seconds; for OPT extended flags.
    package var ttl: UInt32
    /// Type and content.
    package var data: Content

    /// What a record says.
    package enum Content: Hashable, Sendable {
        /// A or AAAA, by the address's family.
        case address(IPAddress)
        /// CNAME.
        case alias(DNSName)
        /// SOA.
        case authority(StartOfAuthority)
        /// Any other type, and its octets as they came.
        case other(DNSType, [UInt8])
    }

    /// The fields of SOA (RFC 1035 §3.3.13).
    package struct StartOfAuthority: Hashable, Sendable {
        /// The zone's first name server.
        package var primary: DNSName
        /// The mailbox of whom it belongs to.
        package var mailbox: DNSName
        /// Version of the zone.
        package var serial: UInt32
        /// Seconds between a secondary's checks.
        package var refresh: UInt32
        /// Seconds until a failed check is repeated.
        package var retry: UInt32
        /// Seconds until a secondary gives up.
        package var expire: UInt32
        /// Upper bound of the TTL of "no such record", in seconds (RFC 2308 §4).
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

    /// A record of the Internet class.
    package init(_ name: DNSName, ttl: UInt32, _ data: Content, recordClass: UInt16 = 1) {
        self.name = name
        self.ttl = ttl
        self.data = data
        self.recordClass = recordClass
    }

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
