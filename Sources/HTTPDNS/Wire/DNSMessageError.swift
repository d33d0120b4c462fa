// SPDX-License-Identifier: Apache-2.0

/// A parsing error of a DNS message. Offsets are in octets.
package enum DNSMessageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The message ends within the field at this offset.
    case truncated(offset: Int)
    /// The number of octets after the last record.
    case trailingOctets(Int)
    /// The message is larger than 65,535 octets; its size.
    case oversized(Int)
    /// The compression pointer at this offset does not point backwards (RFC 1035 §4.1.4), so that it could loop.
    case badPointer(offset: Int)
    /// The first two bits of the label at this offset are 01 or 10.
    case badLabel(offset: Int)
    /// The name at this offset is longer than 255 octets.
    case longName(offset: Int)
    /// The content of the record at this offset does not have the length of its type or length field.
    case badLength(offset: Int)

    /// The number of questions is not one; the number, and the message's ID.
    case questionCount(Int, id: UInt16)
    /// The names need more pointers, or are longer in total, than allowed; the offset of the name that exceeds the
    /// limit.
    case costlyNames(offset: Int)

    /// The error as one phrase.
    package var description: String {
        switch self {
        case .truncated(let offset): "the message ends early, at octet \(offset)"
        case .trailingOctets(let count): "\(count) octets follow the last record"
        case .oversized(let count): "\(count) octets exceed the maximum of a DNS message"
        case .badPointer(let offset): "the compression pointer at octet \(offset) does not point backwards"
        case .badLabel(let offset): "the label at octet \(offset) has an unknown type"
        case .longName(let offset): "the name at octet \(offset) is longer than 255 octets"
        case .questionCount(let count, _): "the message has \(count) questions"
        case .costlyNames(let offset): "the names up to octet \(offset) take too many compression pointers"
        case .badLength(let offset): "the record at octet \(offset) has a length that does not fit its type"
        }
    }
}
