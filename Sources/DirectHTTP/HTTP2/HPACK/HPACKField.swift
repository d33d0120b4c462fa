// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// A header field as a header block carries it, made once and handed out as often as the tables name it: an object, because a
/// copy of its texts would count each of them.
final class HPACKField: Sendable {
    /// The field; its name may be that of a pseudo field, and what cannot be a field has another one's.
    let field: HTTPField
    /// What it takes of a table (RFC 7541 §4.1).
    let size: Int
    let kind: Kind
    private let hasName: Bool
    private let nameLength: Int

    /// What it means to a message, found out once.
    enum Kind: Equatable {
        /// Its name is none of HTTP/2 or its value has what no value has (RFC 9113 §8.2.1). It is kept nonetheless, because
        /// the tables of both sides must stay the same.
        case malformed
        /// `:status` with a number.
        case status(Int)
        /// A pseudo field of a request, or one without a meaning (RFC 9113 §8.3).
        case pseudo(Pseudo?)
        /// A field that HTTP/2 has no place for (RFC 9113 §8.2.2).
        case connection
        /// Content-Length; nil where it is no number.
        case contentLength(Int64?)
        /// `TE`, and whether it says nothing but `trailers` (RFC 9113 §8.2.2).
        case te(Bool)
        case ordinary
    }

    /// The pseudo fields of a request (RFC 9113 §8.3.1).
    struct Pseudo: OptionSet {
        let rawValue: UInt8
        static let method = Pseudo(rawValue: 1)
        static let scheme = Pseudo(rawValue: 2)
        static let path = Pseudo(rawValue: 4)
        static let authority = Pseudo(rawValue: 8)

        fileprivate static func named(_ name: String) -> Pseudo? {
            switch name {
            case ":method": .method
            case ":scheme": .scheme
            case ":path": .path
            case ":authority": .authority
            default: nil
            }
        }
    }

    convenience init(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        let fieldName = FieldNames.lowerCaseName(name)
        self.init(name: fieldName, nameLength: name.count, value: value)
    }

    /// A field of a name that is known, and a new value.
    convenience init(name: HPACKField, value: UnsafeRawBufferPointer) {
        self.init(
            name: name.hasName ? name.field.name : nil,
            nameLength: name.nameLength,
            value: value
        )
    }

    private init(name: HTTPField.Name?, nameLength: Int, value: UnsafeRawBufferPointer) {
        hasName = name != nil
        self.nameLength = nameLength
        field = HTTPField(name: name ?? .expect, lenientValue: value)
        size = nameLength + value.count + 32
        kind = name.map { Self.kind($0, value) } ?? .malformed
    }

    private static func kind(_ name: HTTPField.Name, _ value: UnsafeRawBufferPointer) -> Kind {
        guard !value.contains(where: { $0 == 0 || $0 == 0x0a || $0 == 0x0d }) else { return .malformed }
        switch name.canonicalName {
        case ":status": return status(value).map(Kind.status) ?? .pseudo(nil)
        case "content-length": return .contentLength(number(value))
        case "te": return .te(String(decoding: value, as: UTF8.self).lowercased() == "trailers")
        case let text where HTTP2Headers.belongsToConnection(text): return .connection
        case let text: return text.utf8.first == UInt8(ascii: ":") ? .pseudo(.named(text)) : .ordinary
        }
    }

    private static func number(_ value: UnsafeRawBufferPointer) -> Int64? {
        guard (1...18).contains(value.count), value.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return value.reduce(0) { $0 * 10 + Int64($1) - 48 }
    }

    private static func status(_ value: UnsafeRawBufferPointer) -> Int? {
        guard value.count == 3, value.allSatisfy({ (48...57).contains($0) }), value[0] != 48 else { return nil }
        return value.reduce(0) { $0 * 10 + Int($1) - 48 }
    }
}
