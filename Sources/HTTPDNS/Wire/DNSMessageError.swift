// SPDX-License-Identifier: Apache-2.0

/// What is wrong with the octets of a DNS message.
package enum DNSMessageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The message ends inside a field; where.
    case truncated(offset: Int)
    /// Octets follow the last record; how many.
    case trailingOctets(Int)
    /// The message is larger than 65,535 octets.
    case oversized(Int)
    /// A compression pointer does not point backwards (RFC 1035 §4.1.4), so that it could loop; where.
    case badPointer(offset: Int)
    /// A label's first two bits are 01 or 10; where.
    case badLabel(offset: Int)
    /// A name is longer than 255 octets; where.
    case longName(offset: Int)
    /// A record's content is not as long as its type or its length field says; where.
    case badLength(offset: Int)

    /// The message has another number of questions than one; how many, and the message's ID.
    case questionCount(Int, id: UInt16)
    /// The names go through more pointers, or are longer together, than any honest message's; where that was found.
    case costlyNames(offset: Int)

    /// One phrase.
    package var description: String {
        switch self {
        case .truncated(let offset): "the message ends early, at octet \(offset)"
        case .trailingOctets(let count): "\(count) octets follow the last record"
        case .oversized(let count): "\(count) octets are more than a DNS message may have"
        case .badPointer(let offset): "the compression pointer at octet \(offset) does not point backwards"
        case .badLabel(let offset): "the label at octet \(offset) is of no known kind"
        case .longName(let offset): "the name at octet \(offset) is longer than 255 octets"
        case .questionCount(let count, _): "the message has \(count) questions"
        case .costlyNames(let offset): "the names up to octet \(offset) take too many compression pointers"
        case .badLength(let offset): "the record at octet \(offset) has a length that does not fit its type"
        }
    }
}
