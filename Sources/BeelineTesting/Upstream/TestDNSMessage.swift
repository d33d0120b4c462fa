// SPDX-License-Identifier: Apache-2.0

import Names

/// The part of DNS messages (RFC 1035 §4) that a server of address records needs. It does not use the library's codec, so that
/// each verifies the other.
enum TestDNSMessage {
    /// The record type numbers.
    enum RecordType {
        static let a: UInt16 = 1
        static let cname: UInt16 = 5
        static let soa: UInt16 = 6
        static let aaaa: UInt16 = 28
    }

    /// A received query.
    struct Query {
        let id: UInt16
        let name: String
        let type: UInt16
        /// The raw question section. The answer repeats it with the same letter case.
        let question: [UInt8]

        /// Reads a query with one question; nil for any other message.
        init?(_ bytes: [UInt8]) {
            guard bytes.count >= 17, bytes[2] & 0xf8 == 0, bytes[4] == 0, bytes[5] == 1 else { return nil }
            var labels: [String] = []
            var index = 12
            while index < bytes.count, bytes[index] != 0 {
                let length = Int(bytes[index])
                guard length < 64, index + length < bytes.count, index < 12 + 255 else { return nil }
                labels.append(String(decoding: bytes[(index + 1)...(index + length)], as: UTF8.self))
                index += 1 + length
            }
            guard index + 5 <= bytes.count, bytes[index + 3] == 0, bytes[index + 4] == 1 else { return nil }
            id = UInt16(bytes[0]) << 8 | UInt16(bytes[1])
            name = labels.joined(separator: ".")
            type = UInt16(bytes[index + 1]) << 8 | UInt16(bytes[index + 2])
            question = Array(bytes[12..<(index + 5)])
        }
    }

    /// A record of an answer.
    struct Record {
        var owner: [UInt8]
        var type: UInt16
        var recordClass: UInt16 = 1
        var ttl: UInt32
        var data: [UInt8]
        /// The value of RDLENGTH; nil: the actual length.
        var length: UInt16?

        var bytes: [UInt8] {
            owner + big(type) + big(recordClass) + big(UInt16(ttl >> 16)) + big(UInt16(truncatingIfNeeded: ttl))
                + big(length ?? UInt16(data.count)) + data
        }

        init(owner: [UInt8], type: UInt16, ttl: UInt32, data: [UInt8]) {
            self.owner = owner
            self.type = type
            self.ttl = ttl
            self.data = data
        }
    }

    /// A pointer to the question's name, at offset 12 (RFC 1035 §4.1.4).
    static let questionPointer: [UInt8] = [0xc0, 12]

    /// Encodes a name as a sequence of labels, uncompressed.
    static func encode(name: String) -> [UInt8] {
        name.split(separator: ".").flatMap { label in
            let bytes = label.utf8.prefix(63)
            return [UInt8(bytes.count)] + Array(bytes)
        } + [0]
    }

    static func big(_ value: UInt16) -> [UInt8] {
        [UInt8(value >> 8), UInt8(value & 255)]
    }
}
