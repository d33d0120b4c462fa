// SPDX-License-Identifier: Apache-2.0

import Names

extension DNSMessage {
    /// The message's octets with compressed names (RFC 1035 §4.1.4); nil if it is larger than 65,535 octets, or a
    /// section or record is too large for its length field.
    package func encoded() -> [UInt8]? {
        let counts = [questions.count, answers.count, authorities.count, additionals.count]
        guard counts.allSatisfy({ $0 <= Int(UInt16.max) }) else { return nil }
        var writer = DNSWriter()
        writer.u16(id)
        writer.u16(flags.bits)
        for count in counts { writer.u16(UInt16(count)) }
        for question in questions {
            writer.name(question.name)
            writer.u16(question.type.rawValue)
            writer.u16(question.recordClass)
        }
        for section in [answers, authorities, additionals] {
            for record in section where !writer.record(record) { return nil }
        }
        return writer.octets.count <= Self.maxOctets ? writer.octets : nil
    }
}

extension DNSMessage.Flags {
    var bits: UInt16 {
        var bits = UInt16(opcode & 0xf) << 11 | UInt16(reserved & 0x7) << 4 | UInt16(responseCode.rawValue & 0xf)
        if isResponse { bits |= 0x8000 }
        if isAuthoritative { bits |= 0x0400 }
        if isTruncated { bits |= 0x0200 }
        if recursionDesired { bits |= 0x0100 }
        if recursionAvailable { bits |= 0x0080 }
        return bits
    }
}

extension [UInt8] {
    /// Appends a number in network byte order.
    mutating func append(big value: UInt16) {
        append(UInt8(value >> 8))
        append(UInt8(truncatingIfNeeded: value))
    }

    /// The number in network byte order at a place.
    func number(at place: Int) -> UInt16 { UInt16(self[place]) << 8 | UInt16(self[place + 1]) }
}

private struct DNSWriter {
    var octets: [UInt8] = []
    /// The first offset of each name and name suffix, in exact letter case.
    private var places: [(name: ArraySlice<UInt8>, place: UInt16)] = []

    /// The maximum number of remembered offsets. Messages have few names, for which a list is faster than a table.
    private static let maxPlaces = 64

    init() {
        octets.reserveCapacity(512)
    }

    mutating func u16(_ value: UInt16) { octets.append(big: value) }

    mutating func u32(_ value: UInt32) {
        u16(UInt16(value >> 16))
        u16(UInt16(truncatingIfNeeded: value))
    }

    mutating func u64(_ value: UInt64) {
        u32(UInt32(value >> 32))
        u32(UInt32(truncatingIfNeeded: value))
    }

    mutating func name(_ name: DNSName) {
        var rest = name.wire[...]
        while let length = rest.first, length > 0 {
            if let known = places.first(where: { $0.name == rest }) {
                u16(0xc000 | known.place)
                return
            }
            // Pointers have 14 bits.
            if octets.count < 0x4000, places.count < Self.maxPlaces { places.append((rest, UInt16(octets.count))) }
            octets.append(contentsOf: rest.prefix(1 + Int(length)))
            rest = rest.dropFirst(1 + Int(length))
        }
        octets.append(0)
    }

    /// Writes a record; false if its content does not fit its length field.
    mutating func record(_ record: DNSRecord) -> Bool {
        name(record.name)
        u16(record.type.rawValue)
        u16(record.recordClass)
        u32(record.ttl)
        let lengthAt = octets.count
        u16(0)
        switch record.data {
        case .address(let address):
            if address.family == .v6 { u64(address.high) }
            if address.family == .v6 { u64(address.low) } else { u32(UInt32(truncatingIfNeeded: address.low)) }
        case .alias(let target):
            name(target)
        case .authority(let soa):
            name(soa.primary)
            name(soa.mailbox)
            for field in [soa.serial, soa.refresh, soa.retry, soa.expire, soa.minimum] { u32(field) }
        case .other(_, let content):
            octets.append(contentsOf: content)
        }
        guard let length = UInt16(exactly: octets.count - lengthAt - 2) else { return false }
        octets[lengthAt] = UInt8(length >> 8)
        octets[lengthAt + 1] = UInt8(truncatingIfNeeded: length)
        return true
    }
}
