// SPDX-License-Identifier: Apache-2.0

import Names

extension DNSMessage {
    /// The maximum number of compression pointers in a name. Real host names have few.
    static let maxHopsOfName = 32
    /// The maximum number of compression pointers in a message. A name that repeats the previous one does not count.
    static let maxHops = 2_048
    /// The length of the header, in octets.
    static let headerSize = 12
    /// The maximum length of all decompressed names of a message, in octets. A pointer repeats up to 255 octets in 2,
    /// so that 64 KiB could otherwise expand to more than a megabyte.
    static let maxNameOctets = 65_535

    /// Parses a message. Truncated messages, trailing octets and pointer loops are errors. A response with TC whose
    /// records cannot be read has none.
    ///
    /// A message must have one question (RFC 9619); an error response may have none, because old servers omit it. This
    /// is checked before any name is parsed.
    package init(octets: [UInt8]) throws(DNSMessageError) {
        guard octets.count <= Self.maxOctets else { throw .oversized(octets.count) }
        var reader = DNSReader(octets: octets)
        id = try reader.u16()
        let bits = try reader.u16()
        flags = Flags(bits: bits)
        let counts = (try reader.u16(), try reader.u16(), try reader.u16(), try reader.u16())
        let mayLackQuestion = flags.isResponse && flags.responseCode != .noError
        guard counts.0 == 1 || counts.0 == 0 && mayLackQuestion else { throw .questionCount(Int(counts.0), id: id) }
        questions = []
        for _ in 0..<counts.0 {
            let name = try reader.name()
            let type = DNSType(rawValue: try reader.u16())
            questions.append(DNSQuestion(name, type, recordClass: try reader.u16()))
        }
        (answers, authorities, additionals) = ([], [], [])
        do throws(DNSMessageError) {
            let sections = (try reader.records(counts.1), try reader.records(counts.2), try reader.records(counts.3))
            guard reader.offset == octets.count else { throw .trailingOctets(octets.count - reader.offset) }
            (answers, authorities, additionals) = sections
        } catch {
            // Some servers cut a truncated response inside a record (RFC 1035 §6.2). Its records are not used.
            guard flags.isResponse, flags.isTruncated else { throw error }
        }
    }
}

extension DNSMessage.Flags {
    init(bits: UInt16) {
        isResponse = bits & 0x8000 != 0
        opcode = UInt8(bits >> 11 & 0xf)
        isAuthoritative = bits & 0x0400 != 0
        isTruncated = bits & 0x0200 != 0
        recursionDesired = bits & 0x0100 != 0
        recursionAvailable = bits & 0x0080 != 0
        reserved = UInt8(bits >> 4 & 0x7)
        responseCode = DNSResponseCode(rawValue: UInt8(bits & 0xf))
    }
}

/// Reads the fields of a message in order; every read is checked against the end.
private struct DNSReader {
    let octets: [UInt8]
    var offset = 0
    /// The first name and its offset: in a response, most other names are pointers to it.
    private var first: (name: DNSName, place: Int)?
    /// The last pointer at the start of a name, and that name: consecutive records often have the same owner.
    private var last: (name: DNSName, pointer: UInt16)?
    private var hops = 0
    private var nameOctets = 0

    init(octets: [UInt8]) {
        self.octets = octets
    }

    mutating func u16() throws(DNSMessageError) -> UInt16 {
        guard offset + 2 <= octets.count else { throw .truncated(offset: offset) }
        defer { offset += 2 }
        return octets.number(at: offset)
    }

    mutating func u32() throws(DNSMessageError) -> UInt32 {
        UInt32(try u16()) << 16 | UInt32(try u16())
    }

    mutating func u64() throws(DNSMessageError) -> UInt64 {
        UInt64(try u32()) << 32 | UInt64(try u32())
    }

    /// Reads a name and follows its pointers. Each pointer must lead before the start of the part that contains it, so
    /// that there are no loops.
    mutating func name() throws(DNSMessageError) -> DNSName {
        let start = offset
        let simple = knownName() ?? plainName()
        let name = if let simple { simple } else { try compressedName() }
        nameOctets += name.wire.count
        guard nameOctets <= DNSMessage.maxNameOctets else { throw .costlyNames(offset: start) }
        if first == nil, start <= 0x3fff { first = (name, start) }
        return name
    }

    /// A name that is only a pointer, if that pointer was followed before.
    private mutating func knownName() -> DNSName? {
        guard offset + 1 < octets.count, octets[offset] >= 0xc0 else { return nil }
        let pointer = octets.number(at: offset)
        var name: DNSName?
        if let first, pointer == 0xc000 | UInt16(first.place) { name = first.name }
        if let last, pointer == last.pointer { name = last.name }
        if name != nil { offset += 2 }
        return name
    }

    private mutating func compressedName() throws(DNSMessageError) -> DNSName {
        let start = offset
        var wire: [UInt8] = []
        wire.reserveCapacity(64)
        var at = offset
        var partStart = offset
        var end: Int?
        var hopsOfName = 0
        while true {
            guard at < octets.count else { throw .truncated(offset: at) }
            let length = Int(octets[at])
            switch length >> 6 {
            case 0:
                guard at + 1 + length <= octets.count else { throw .truncated(offset: at) }
                wire.append(contentsOf: octets[at...(at + length)])
                guard wire.count <= DNSName.maxOctets else { throw .longName(offset: start) }
                at += 1 + length
                if length == 0 {
                    offset = end ?? at
                    let name = DNSName(wire: wire)
                    if end == start + 2 { last = (name, octets.number(at: start)) }
                    return name
                }
            case 3:
                guard at + 1 < octets.count else { throw .truncated(offset: at) }
                let target = (length & 0x3f) << 8 | Int(octets[at + 1])
                // No name is in the header.
                guard target >= DNSMessage.headerSize, target < partStart else { throw .badPointer(offset: at) }
                hopsOfName += 1
                hops += 1
                guard hopsOfName <= DNSMessage.maxHopsOfName, hops <= DNSMessage.maxHops else {
                    throw .costlyNames(offset: start)
                }
                end = end ?? at + 2
                at = target
                partStart = target
            default:
                throw .badLabel(offset: at)
            }
        }
    }

    /// A name without pointers, whose octets are copied as they are; nil for any other.
    private mutating func plainName() -> DNSName? {
        var end = offset
        while end < octets.count, 1...63 ~= octets[end] { end += 1 + Int(octets[end]) }
        guard end < octets.count, octets[end] == 0, end - offset < DNSName.maxOctets else { return nil }
        defer { offset = end + 1 }
        return end == offset ? .root : DNSName(wire: Array(octets[offset...end]))
    }

    mutating func records(_ count: UInt16) throws(DNSMessageError) -> [DNSRecord] {
        guard count > 0 else { return [] }
        var records: [DNSRecord] = []
        // A record has at least 11 octets; do not reserve more than the message can contain.
        records.reserveCapacity(min(Int(count), (octets.count - offset) / 11))
        for _ in 0..<count { records.append(try record()) }
        return records
    }

    mutating func record() throws(DNSMessageError) -> DNSRecord {
        let start = offset
        let name = try name()
        let type = DNSType(rawValue: try u16())
        let recordClass = try u16()
        let ttl = try u32()
        let length = Int(try u16())
        let end = offset + length
        guard end <= octets.count else { throw .truncated(offset: offset) }
        let content: DNSRecord.Content
        switch type {
        case .a:
            guard length == 4 else { throw .badLength(offset: start) }
            content = .address(IPAddress(v4: try u32()))
        case .aaaa:
            guard length == 16 else { throw .badLength(offset: start) }
            content = .address(IPAddress(v6: try u64(), try u64()))
        case .cname:
            content = .alias(try self.name())
        case .soa:
            content = .authority(
                DNSRecord.StartOfAuthority(
                    primary: try self.name(),
                    mailbox: try self.name(),
                    serial: try u32(),
                    refresh: try u32(),
                    retry: try u32(),
                    expire: try u32(),
                    minimum: try u32()
                )
            )
        default:
            content = .other(type, try expandedContent(of: type, end: end) ?? Array(octets[offset..<end]))
            offset = end
        }
        guard offset == end else { throw .badLength(offset: start) }
        // The field of OPT holds flags.
        let seconds = type == .opt ? ttl : DNSRecord.seconds(ttl)
        return DNSRecord(name, ttl: seconds, content, recordClass: recordClass)
    }

    /// The content of a record with its names decompressed, so that it can be copied into another message; nil for types
    /// whose content has no compressed names.
    private mutating func expandedContent(of type: DNSType, end: Int) throws(DNSMessageError) -> [UInt8]? {
        guard let layout = ContentNames(type) else { return nil }
        let start = offset
        offset += layout.prefix
        for _ in 0..<layout.strings where offset < end { offset += 1 + Int(octets[offset]) }
        guard offset < end else { throw .badLength(offset: start) }
        var content = Array(octets[start..<offset])
        for _ in 0..<layout.names { content += try name().wire }
        guard offset == end else { throw .badLength(offset: start) }
        return content
    }
}
