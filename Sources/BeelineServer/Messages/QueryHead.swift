// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// A query as a server reads it: header, question and EDNS. Other records are skipped.
struct QueryHead: Sendable {
    /// The reason why a message is not a query.
    enum Fault: Error, Hashable {
        /// The message is a response, or has no header. A reply could start a loop.
        case notAQuery
        /// The message is a query that cannot be read. The reply is FORMERR. The first three octets: ID, opcode and RD.
        case malformed(start: [UInt8])
    }

    /// The header and the question.
    let octets: [UInt8]
    let options: QueryOptions

    private static let headerSize = 12

    /// Reads a query.
    init(_ message: [UInt8]) throws(Fault) {
        guard message.count >= Self.headerSize, message[2] & 0x80 == 0 else { throw .notAQuery }
        let start = Array(message.prefix(3))
        var walk = Walk(octets: message, place: Self.headerSize)
        // Messages with other opcodes have other sections. The header is enough to refuse them.
        guard message[2] & 0x78 == 0 else {
            octets = Array(message.prefix(Self.headerSize))
            options = QueryOptions()
            return
        }
        guard walk.number(at: 4) == 1, walk.skipPlainName(), walk.skip(4) else { throw .malformed(start: start) }
        octets = Array(message[..<walk.place])
        var options = QueryOptions()
        let records = walk.number(at: 6) + walk.number(at: 8) + walk.number(at: 10)
        for _ in 0..<records {
            guard let record = walk.record() else { throw .malformed(start: start) }
            if record.type == DNSType.opt.rawValue {
                options.add(payload: record.recordClass, flags: record.ttl, content: message[record.content])
            }
        }
        guard walk.place == message.count else { throw .malformed(start: start) }
        self.options = options
    }

    var opcode: UInt8 { octets[2] >> 3 & 0xf }
    /// RD: whether the client asks the server to ask others (RFC 1034 §4.3.1).
    var wantsRecursion: Bool { octets[2] & 1 != 0 }
    /// AD: whether the client wants to know if the answer was validated (RFC 6840 §5.7).
    var wantsVerdict: Bool { octets[3] & 0x20 != 0 }
    /// CD.
    var isUnchecked: Bool { octets[3] & 0x10 != 0 }
    var hasQuestion: Bool { octets.count > Self.headerSize }
    var type: DNSType { DNSType(rawValue: number(atEnd: 4)) }
    var recordClass: UInt16 { number(atEnd: 2) }
    /// The name in wire format, in the client's letter case.
    var nameOctets: ArraySlice<UInt8> { octets[Self.headerSize..<(octets.count - 4)] }
    var question: DNSQuestion { DNSQuestion(DNSName(wire: Array(nameOctets)), type, recordClass: recordClass) }

    /// Nil for a message with another opcode, whose question is not read.
    var onlyQuestion: DNSQuestion? { hasQuestion ? question : nil }

    private func number(atEnd offset: Int) -> UInt16 {
        let place = octets.count - offset
        return UInt16(octets[place]) << 8 | UInt16(octets[place + 1])
    }

    /// The response code for a query that cannot be answered; nil for others.
    var fault: DNSResponseCode? {
        guard opcode == 0, hasQuestion else { return .notImplemented }
        // RFC 6891 §6.1.1 and §6.1.3.
        if options.count > 1 { return .formatError }
        if options.version != 0 { return .badVersion }
        return recordClass == 1 ? type.fault : .refused
    }
}

/// Steps over the parts of a message without reading names.
private struct Walk {
    struct Record {
        var type: UInt16
        var recordClass: UInt16
        var ttl: UInt32
        var content: Range<Int>
    }

    let octets: [UInt8]
    var place: Int

    func number(at place: Int) -> Int { Int(octets[place]) << 8 | Int(octets[place + 1]) }

    mutating func skip(_ count: Int) -> Bool {
        place += count
        return place <= octets.count
    }

    /// Skips a name without compression, of at most 255 octets.
    mutating func skipPlainName() -> Bool {
        let start = place
        while place < octets.count, octets[place] != 0 {
            guard octets[place] <= 63 else { return false }
            place += 1 + Int(octets[place])
        }
        return skip(1) && place - start <= DNSName.maxOctets
    }

    /// Skips a name, which may end with a compression pointer.
    private mutating func skipName() -> Bool {
        while place < octets.count, 1...63 ~= octets[place] { place += 1 + Int(octets[place]) }
        guard place < octets.count else { return false }
        return octets[place] == 0 ? skip(1) : octets[place] >= 0xc0 && skip(2)
    }

    mutating func record() -> Record? {
        guard skipName(), place + 10 <= octets.count else { return nil }
        let start = place
        let length = number(at: start + 8)
        guard skip(10 + length) else { return nil }
        return Record(
            type: UInt16(number(at: start)),
            recordClass: UInt16(number(at: start + 2)),
            ttl: UInt32(number(at: start + 4)) << 16 | UInt32(number(at: start + 6)),
            content: (start + 10)..<place
        )
    }
}
