// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// Field names that nearly every response carries, found by their bytes: making a name anew allocates and lower-cases.
enum FieldNames {
    private static let common: [[HTTPField.Name]] = {
        let names: [HTTPField.Name] = [
            .date, .server, .contentLength, .contentType, .connection, .setCookie, .location, .cacheControl, .eTag,
            .lastModified, .acceptRanges, .expires, .vary, .contentEncoding, .transferEncoding, .age, .via,
            .strictTransportSecurity, .contentRange,
        ]
        var table: [[HTTPField.Name]] = Array(repeating: [], count: 32)
        for name in names { table[name.rawName.utf8.count].append(name) }
        return table
    }()

    /// The name of these bytes, its case kept; nil if they are not a token (RFC 9110 §5.6.2).
    static func name(_ bytes: Slice<UnsafeRawBufferPointer>) -> HTTPField.Name? {
        if bytes.count < 32 {
            for name in common[bytes.count] where bytes.elementsEqual(name.rawName.utf8) { return name }
        }
        return HTTPField.Name(String(decoding: bytes, as: UTF8.self))
    }

    /// The name of these bytes as HTTP/2 writes it, in lower case (RFC 9113 §8.2.1), pseudo fields included; nil if it is
    /// none.
    static func lowerCaseName(_ bytes: UnsafeRawBufferPointer) -> HTTPField.Name? {
        HTTPField.Name(parsed: String(decoding: bytes, as: UTF8.self))
    }
}
