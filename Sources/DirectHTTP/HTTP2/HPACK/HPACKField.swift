// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// A header field as a header block carries it, made once and handed out as often as the tables name it.
struct HPACKField: Sendable {
    /// The field; its name may be that of a pseudo field. What cannot be a field stands for itself by ``isMalformed``.
    let field: HTTPField
    /// What it takes of a table (RFC 7541 §4.1).
    let size: Int
    /// The status, if this is `:status`.
    let status: Int?
    /// Whether it is a pseudo field (RFC 9113 §8.3).
    let isPseudo: Bool
    /// Whether its name is none of HTTP/2 or its value has what no value has (RFC 9113 §8.2.1). It is kept nonetheless,
    /// because the tables of both sides must stay the same.
    let isMalformed: Bool

    init(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        let fieldName = FieldNames.lowerCaseName(name)
        self.init(name: fieldName, nameLength: name.count, value: value)
    }

    /// A field of a name that is known, and a new value.
    init(name: HPACKField, value: UnsafeRawBufferPointer) {
        self.init(
            name: name.isMalformed ? nil : name.field.name,
            nameLength: name.field.name.rawName.utf8.count,
            value: value
        )
    }

    private init(name: HTTPField.Name?, nameLength: Int, value: UnsafeRawBufferPointer) {
        isPseudo = name?.rawName.utf8.first == UInt8(ascii: ":")
        isMalformed = name == nil || value.contains { $0 == 0 || $0 == 0x0a || $0 == 0x0d }
        field = HTTPField(name: name ?? .expect, lenientValue: value)
        size = nameLength + value.count + 32
        status = isPseudo && name?.rawName == ":status" ? Self.status(value) : nil
    }

    private static func status(_ value: UnsafeRawBufferPointer) -> Int? {
        guard value.count == 3, value.allSatisfy({ (48...57).contains($0) }), value[0] != 48 else { return nil }
        return value.reduce(0) { $0 * 10 + Int($1) - 48 }
    }
}
