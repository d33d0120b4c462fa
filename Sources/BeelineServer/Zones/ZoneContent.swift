// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// The words after a record's type in a master file, and the origin for relative names.
struct ZoneContent {
    let type: DNSType
    let words: [ZoneText.Word]
    let line: Int
    let origin: DNSName?

    /// Parses the words into the content of a record.
    func read() throws(ServerError) -> DNSRecord.Content {
        // Without synthesized aliases, the names below it would not exist.
        if type == .subtreeAlias { throw wrong("DNAME is not supported: write an alias for each name") }
        if words.first?.octets == [0x100 | 0x23] { return try general() }
        switch (type.rawValue, words.count) {
        case (1, 1), (28, 1):
            let family: IPAddress.Family = type == .a ? .v4 : .v6
            guard let address = IPAddress(words[0].text), address.family == family else {
                throw wrong("\"\(words[0].text)\" is not an \(Families(family)) address")
            }
            return .address(address)
        case (5, 1): return .alias(try name(0))
        case (2, 1), (12, 1): return .other(type, try name(0).wire)
        case (15, 2): return .other(type, try numbers(1) + (try name(1)).wire)
        case (33, 4): return .other(type, try numbers(3) + (try name(3)).wire)
        case (16, 1...): return .other(type, try texts())
        case (64, 2...), (65, 2...):
            return .other(type, try bounded(numbers(1) + name(1).wire + parameters()))
        case (257, 3): return .other(type, try authorization())
        case (6, 7):
            return .authority(
                DNSRecord.StartOfAuthority(
                    primary: try name(0),
                    mailbox: try name(1),
                    serial: try number(2, upTo: .max),
                    refresh: try time(3),
                    retry: try time(4),
                    expire: try time(5),
                    minimum: try time(6)
                )
            )
        case (1, _), (2, _), (5, _), (6, _), (12, _), (15, _), (16, _), (28, _), (33, _), (64, _), (65, _), (257, _):
            throw wrong("the content is not valid for the type \(type.label)")
        default: throw wrong("\(type.label) has no supported text form: write \\# LENGTH HEX")
        }
    }

    // MARK: Forms

    private func texts() throws(ServerError) -> [UInt8] {
        var octets: [UInt8] = []
        for word in words {
            guard word.octets.count <= 255 else { throw wrong("a text of more than 255 octets: split it") }
            octets.append(UInt8(word.octets.count))
            octets += word.plain
        }
        return try bounded(octets)
    }

    private func parameters() throws(ServerError) -> [UInt8] {
        do throws(ServiceParameters.Fault) {
            return try ServiceParameters(words: words.dropFirst(2).map(\.plain)).wire
        } catch {
            throw wrong(error.message)
        }
    }

    /// CAA (RFC 8659 §4.1.1): flags, a tag of letters and digits, a value.
    private func authorization() throws(ServerError) -> [UInt8] {
        let tag = words[1].plain
        let isTag = tag.allSatisfy { octet in
            let character = Character(Unicode.Scalar(octet))
            return character.isASCII && (character.isLetter || character.isNumber)
        }
        guard (1...255).contains(tag.count), isTag else {
            throw wrong("\"\(words[1].text)\" is not a tag of CAA: use letters and digits, such as issue")
        }
        return try bounded([UInt8(try number(0, upTo: 255)), UInt8(tag.count)] + tag + words[2].plain)
    }

    /// Reads `\# LENGTH HEX…` (RFC 3597 §5). If the type has a known format, the octets must have that format.
    private func general() throws(ServerError) -> DNSRecord.Content {
        let digits = words.dropFirst(2).map(\.text).joined()
        guard words.count >= 2, let length = Int(words[1].text), let octets = Hex.decode(digits),
            octets.count == length, length <= 65_535
        else { throw wrong("after \\# write the length and that many octets in hexadecimal") }
        let content: DNSRecord.Content?
        switch type.rawValue {
        case 1, 28:
            content = octets.count == (type == .a ? 4 : 16) ? IPAddress(octets: octets).map { .address($0) } : nil
        case 5:
            var rest = octets[...]
            let name = DNSName(takenFrom: &rest)
            content = rest.isEmpty ? name.map { .alias($0) } : nil
        case 6: content = Self.authority(octets[...]).map { .authority($0) }
        case 2, 12, 15, 16, 33, 64, 65, 257:
            // Malformed content has no text form of its own.
            content = RecordText.write(type, octets).hasPrefix("\\#") ? nil : .other(type, octets)
        default: content = .other(type, octets)
        }
        guard let content else { throw wrong("the octets are not a record of the type \(type.label)") }
        return content
    }

    private static func authority(_ octets: ArraySlice<UInt8>) -> DNSRecord.StartOfAuthority? {
        var rest = octets
        guard let primary = DNSName(takenFrom: &rest), let mailbox = DNSName(takenFrom: &rest), rest.count == 20 else {
            return nil
        }
        let times = (0..<5).map { index in
            rest.dropFirst(index * 4).prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        return DNSRecord.StartOfAuthority(
            primary: primary,
            mailbox: mailbox,
            serial: times[0],
            refresh: times[1],
            retry: times[2],
            expire: times[3],
            minimum: times[4]
        )
    }

    // MARK: Words

    private func wrong(_ what: String) -> ServerError { ZoneText.error(line, what) }

    private func bounded(_ octets: [UInt8]) throws(ServerError) -> [UInt8] {
        guard octets.count <= 65_535 else { throw wrong("more than a record can hold") }
        return octets
    }

    private func number(_ index: Int, upTo limit: UInt32) throws(ServerError) -> UInt32 {
        guard let value = UInt32(words[index].text), value <= limit else {
            throw wrong("\"\(words[index].text)\" is not a number up to \(limit)")
        }
        return value
    }

    /// Reads the first words as 16-bit numbers, in wire format.
    private func numbers(_ count: Int) throws(ServerError) -> [UInt8] {
        var octets: [UInt8] = []
        for index in 0..<count {
            let value = try number(index, upTo: 65_535)
            octets += [UInt8(value >> 8), UInt8(value & 0xff)]
        }
        return octets
    }

    private func time(_ index: Int) throws(ServerError) -> UInt32 {
        guard let value = words[index].seconds else { throw wrong("\"\(words[index].text)\" is not a time") }
        return value
    }

    private func name(_ index: Int) throws(ServerError) -> DNSName { try words[index].name(from: origin, line) }
}

extension ZoneText.Word {
    /// The name that the word denotes. It is relative to `origin` unless it ends with a dot.
    func name(from origin: DNSName?, _ line: Int) throws(ServerError) -> DNSName {
        let isRelative = octets.last != 0x2e
        let base = isRelative ? origin : .root
        guard let base else {
            throw ZoneText.error(line, "\"\(text)\" is relative: write $ORIGIN first, or add a dot at its end")
        }
        if octets == [0x40] { return base }
        if octets == [0x2e] { return .root }
        var wire: [UInt8] = []
        let labels = (isRelative ? octets[...] : octets.dropLast())
            .split(separator: 0x2e, omittingEmptySubsequences: false)
        for label in labels {
            guard (1...63).contains(label.count) else {
                throw ZoneText.error(line, "\"\(text)\" has a label that is empty or of more than 63 octets")
            }
            wire.append(UInt8(label.count))
            wire += label.map { UInt8(truncatingIfNeeded: $0) }
        }
        wire += base.wire
        guard wire.count <= DNSName.maxOctets else { throw ZoneText.error(line, "\"\(text)\" is too long for a name") }
        return DNSName(wire: wire)
    }

    /// The seconds of a time such as `3600`, `1h` or `1d12h`. Nil for other words.
    var seconds: UInt32? {
        let units: [Character: UInt64] = ["S": 1, "M": 60, "H": 3_600, "D": 86_400, "W": 604_800]
        var total: UInt64 = 0
        var number: UInt64?
        for character in text.uppercased() {
            if let digit = character.isASCII ? character.wholeNumberValue : nil {
                number = (number ?? 0) * 10 + UInt64(digit)
                guard number ?? 0 <= UInt64(UInt32.max) else { return nil }
            } else {
                guard let unit = units[character], let value = number else { return nil }
                total += value * unit
                // Checked for each part: a long word could overflow the sum.
                guard total <= UInt64(UInt32.max) else { return nil }
                number = nil
            }
        }
        guard !text.isEmpty, total + (number ?? 0) <= UInt64(UInt32.max) else { return nil }
        return UInt32(total + (number ?? 0))
    }
}
