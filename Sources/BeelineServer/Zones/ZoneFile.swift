// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// The records of a master file (RFC 1035 §5): `$ORIGIN`, `$TTL` (RFC 2308 §4), `@`, relative names, repeated owners, times
/// such as `1h30m`, and the types A, AAAA, CNAME, NS, PTR, MX, TXT, SRV, SOA and `TYPEnn \# …` (RFC 3597).
struct ZoneFile {
    /// The largest file that is read, in octets.
    static let maxOctets = 64 << 20

    private(set) var records: [DNSRecord] = []
    /// The owner of the SOA record.
    private(set) var apex: DNSName

    /// Reads a file's octets.
    ///
    /// - Throws: ``ServerError`` with code `badZone` and the line's number.
    init(parsing octets: [UInt8]) throws(ServerError) {
        guard octets.count <= Self.maxOctets else {
            throw ServerError(.badZone, "it has more than \(Self.maxOctets >> 20) MiB")
        }
        var reader = ZoneReader()
        var apex: DNSName?
        for entry in try ZoneText(octets).entries {
            guard let record = try reader.record(entry) else { continue }
            if case .authority = record.data {
                guard apex == nil else { throw ZoneText.error(entry.line, "a second SOA: a file is one zone") }
                apex = record.name
            }
            records.append(record)
        }
        guard let apex else { throw ServerError(.badZone, "there is no SOA record: it says which zone the file is") }
        self.apex = apex
        if let stranger = records.first(where: { !$0.name.isAtOrBelow(apex) }) {
            throw ServerError(.badZone, "\(stranger.name) is not in the zone \(apex)")
        }
    }
}

/// Reads entries in their order; some say what holds for those behind them.
private struct ZoneReader {
    private var origin: DNSName?
    private var defaultTTL: UInt32?
    private var owner: DNSName?
    private var lastTTL: UInt32?

    /// The record of an entry; nil for a directive.
    mutating func record(_ entry: ZoneText.Entry) throws(ServerError) -> DNSRecord? {
        var words = entry.words[...]
        guard let first = words.first else { return nil }
        if !first.isQuoted, first.octets.first == 0x24 {
            try directive(entry)
            return nil
        }
        if !entry.repeatsOwner {
            owner = try name(first, entry)
            words = words.dropFirst()
        }
        guard let owner else { throw ZoneText.error(entry.line, "the first record has no owner") }
        var ttl: UInt32?
        var type: DNSType?
        while type == nil {
            guard let word = words.popFirst() else { throw ZoneText.error(entry.line, "the record has no type") }
            let text = word.text.uppercased()
            if let time = Self.seconds(text), ttl == nil {
                ttl = time
            } else if text == "IN" {
                continue
            } else if let known = Self.type(text) {
                type = known
            } else {
                throw ZoneText.error(entry.line, "\"\(word.text)\" is no type that is known here; write TYPE65 \\# 0")
            }
        }
        guard let type else { return nil }
        let content = try content(type, Array(words), entry)
        if let ttl { lastTTL = ttl }
        // An SOA without any TTL gives its own (RFC 1035 §3.3.13 as it was read before RFC 2308).
        if case .authority(let soa) = content, ttl == nil, defaultTTL == nil { defaultTTL = soa.minimum }
        guard let time = ttl ?? defaultTTL ?? lastTTL else {
            throw ZoneText.error(entry.line, "there is no TTL: write $TTL 3600 at the top")
        }
        return DNSRecord(owner, ttl: min(time, UInt32(Int32.max)), content)
    }

    private mutating func directive(_ entry: ZoneText.Entry) throws(ServerError) {
        let words = entry.words
        switch (words[0].text.uppercased(), words.count) {
        case ("$ORIGIN", 2): origin = try name(words[1], entry)
        case ("$TTL", 2):
            guard let time = Self.seconds(words[1].text.uppercased()) else {
                throw ZoneText.error(entry.line, "\"\(words[1].text)\" is no time")
            }
            defaultTTL = time
        default: throw ZoneText.error(entry.line, "\(words[0].text) is not taken here")
        }
    }

    // MARK: Content

    private func content(
        _ type: DNSType,
        _ words: [ZoneText.Word],
        _ entry: ZoneText.Entry
    ) throws(ServerError) -> DNSRecord.Content {
        if words.first?.octets == [0x100 | 0x23] { return try octets(type, words, entry) }
        let wrong = { (what: String) in ZoneText.error(entry.line, what) }
        func number(_ index: Int, upTo limit: UInt32) throws(ServerError) -> UInt32 {
            guard let value = UInt32(words[index].text), value <= limit else {
                throw wrong("\"\(words[index].text)\" is no number up to \(limit)")
            }
            return value
        }
        func time(_ index: Int) throws(ServerError) -> UInt32 {
            guard let value = Self.seconds(words[index].text.uppercased()) else {
                throw wrong("\"\(words[index].text)\" is no time")
            }
            return value
        }
        func big(_ value: UInt32) -> [UInt8] { [UInt8(value >> 8 & 0xff), UInt8(value & 0xff)] }
        switch (type.rawValue, words.count) {
        case (1, 1), (28, 1):
            let family: IPAddress.Family = type == .a ? .v4 : .v6
            guard let address = IPAddress(words[0].text), address.family == family else {
                throw wrong("\"\(words[0].text)\" is no \(Families(family)) address")
            }
            return .address(address)
        case (5, 1): return .alias(try name(words[0], entry))
        case (2, 1), (12, 1): return .other(type, try name(words[0], entry).wire)
        case (15, 2): return .other(type, big(try number(0, upTo: 65_535)) + (try name(words[1], entry)).wire)
        case (33, 4):
            var octets: [UInt8] = []
            for index in 0..<3 { octets += big(try number(index, upTo: 65_535)) }
            return .other(type, octets + (try name(words[3], entry)).wire)
        case (16, 1...):
            var octets: [UInt8] = []
            for word in words {
                guard word.octets.count <= 255 else { throw wrong("a text of more than 255 octets: part it") }
                octets.append(UInt8(word.octets.count))
                octets += word.plain
            }
            guard octets.count <= 65_535 else { throw wrong("more text than a record can hold") }
            return .other(type, octets)
        case (6, 7):
            return .authority(
                DNSRecord.StartOfAuthority(
                    primary: try name(words[0], entry),
                    mailbox: try name(words[1], entry),
                    serial: try number(2, upTo: .max),
                    refresh: try time(3),
                    retry: try time(4),
                    expire: try time(5),
                    minimum: try time(6)
                )
            )
        default: throw wrong("the record's content is not that of its type")
        }
    }

    /// `\# LENGTH HEX…` (RFC 3597 §5).
    private func octets(
        _ type: DNSType,
        _ words: [ZoneText.Word],
        _ entry: ZoneText.Entry
    ) throws(ServerError) -> DNSRecord.Content {
        let digits = words.dropFirst(2).map(\.text).joined()
        guard words.count >= 2, let length = Int(words[1].text), let octets = Hex.decode(digits),
            octets.count == length,
            length <= 65_535, ![1, 5, 6, 28].contains(type.rawValue)
        else {
            throw ZoneText.error(entry.line, "after \\# the length and as many octets, of a type without its own form")
        }
        return .other(type, octets)
    }

    // MARK: Words

    private func name(_ word: ZoneText.Word, _ entry: ZoneText.Entry) throws(ServerError) -> DNSName {
        let isRelative = word.octets.last != 0x2e
        let base = isRelative ? origin : .root
        guard let base else {
            throw ZoneText.error(entry.line, "\"\(word.text)\" is relative: write $ORIGIN first, or a dot behind it")
        }
        if word.octets == [0x40] { return base }
        if word.octets == [0x2e] { return .root }
        var wire: [UInt8] = []
        let labels = (isRelative ? word.octets[...] : word.octets.dropLast())
            .split(separator: 0x2e, omittingEmptySubsequences: false)
        for label in labels {
            guard (1...63).contains(label.count) else {
                throw ZoneText.error(entry.line, "\"\(word.text)\" has a label that is empty or of more than 63 octets")
            }
            wire.append(UInt8(label.count))
            wire += label.map { UInt8(truncatingIfNeeded: $0) }
        }
        wire += base.wire
        guard wire.count <= DNSName.maxOctets else {
            throw ZoneText.error(entry.line, "\"\(word.text)\" is longer than a name can be")
        }
        return DNSName(wire: wire)
    }

    private static func type(_ text: String) -> DNSType? {
        let known: [String: UInt16] = [
            "A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28, "SRV": 33,
        ]
        if let number = known[text] { return DNSType(rawValue: number) }
        guard text.hasPrefix("TYPE"), let number = UInt16(text.dropFirst(4)) else { return nil }
        return DNSType(rawValue: number)
    }

    /// `3600`, `1H`, `1D12H`; nil for anything else.
    static func seconds(_ text: String) -> UInt32? {
        let units: [Character: UInt64] = ["S": 1, "M": 60, "H": 3_600, "D": 86_400, "W": 604_800]
        var total: UInt64 = 0
        var number: UInt64?
        for character in text {
            if let digit = character.isASCII ? character.wholeNumberValue : nil {
                number = (number ?? 0) * 10 + UInt64(digit)
                guard number ?? 0 <= UInt64(UInt32.max) else { return nil }
            } else {
                guard let unit = units[character], let value = number else { return nil }
                total += value * unit
                number = nil
            }
        }
        guard !text.isEmpty, total + (number ?? 0) <= UInt64(UInt32.max) else { return nil }
        return UInt32(total + (number ?? 0))
    }
}
