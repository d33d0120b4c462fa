// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// A decoded field of tables and blocks. A class, because copying a struct would retain each of its strings.
package final class HPACKField: Sendable {
    /// The field. Its name may be that of a pseudo field; a malformed name is replaced by a placeholder.
    let field: HTTPField
    /// The size in a table, in bytes (RFC 7541 §4.1).
    let size: Int
    let kind: Kind
    private let hasName: Bool
    private let nameLength: Int

    /// The meaning of the field in a message, determined once.
    enum Kind: Equatable {
        /// Not valid in HTTP/2 (RFC 9113 §8.2.1). Kept anyway, because the tables of both sides must stay equal.
        case malformed
        /// `:status` with a valid number.
        case status(Int)
        /// A pseudo field of a request; nil for an unknown pseudo field (RFC 9113 §8.3).
        case pseudo(Pseudo?)
        /// A connection-specific field, which HTTP/2 does not allow (RFC 9113 §8.2.2).
        case connection
        /// Content-Length; nil if it is not a number.
        case contentLength(Int64?)
        /// `TE`, and whether its value is `trailers` (RFC 9113 §8.2.2).
        case te(Bool)
        /// The value starts or ends with SP or HTAB. This makes a request malformed (RFC 9113 §8.2.1). Responses with such values
        /// are accepted, as curl does, because servers send them.
        case untrimmed
        case ordinary
    }

    /// The pseudo fields of a request (RFC 9113 §8.3.1).
    enum Pseudo: String {
        case method = ":method"
        case scheme = ":scheme"
        case path = ":path"
        case authority = ":authority"
    }

    /// Whether the field has the name of a pseudo field (RFC 9113 §8.3).
    var isPseudo: Bool {
        switch kind {
        case .status, .pseudo: true
        default: false
        }
    }

    /// Whether a field is connection-specific and not allowed in HTTP/2 (RFC 9113 §8.2.2).
    package static func belongsToConnection(_ name: String) -> Bool {
        // The length alone excludes most names.
        switch name.utf8.count {
        case 7: name == "upgrade"
        case 10: name == "connection" || name == "keep-alive"
        case 16: name == "proxy-connection"
        case 17: name == "transfer-encoding"
        default: false
        }
    }

    convenience init(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        // Names have lower case, and those of pseudo fields are allowed (RFC 9113 §8.2.1).
        self.init(name: HTTPField.Name(parsed: name.text), nameLength: name.count, value: value)
    }

    convenience init(name: HPACKField, value: UnsafeRawBufferPointer) {
        self.init(name: name.hasName ? name.field.name : nil, nameLength: name.nameLength, value: value)
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
        case "content-length": return .contentLength(HTTP1Framing.number(value))
        case "te": return .te(String(decoding: value, as: UTF8.self).lowercased() == "trailers")
        case let text where belongsToConnection(text): return .connection
        case let text:
            let isTrimmed = value.trimmed.count == value.count
            if text.utf8.first == UInt8(ascii: ":") { return .pseudo(isTrimmed ? Pseudo(rawValue: text) : nil) }
            return isTrimmed ? .ordinary : .untrimmed
        }
    }

    private static func status(_ value: UnsafeRawBufferPointer) -> Int? {
        guard value.count == 3, value.allSatisfy(HTTPCharacters.isDigit), value[0] != 48 else { return nil }
        return value.reduce(0) { $0 * 10 + Int($1) - 48 }
    }
}
