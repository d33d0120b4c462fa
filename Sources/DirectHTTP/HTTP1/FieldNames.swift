// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// Field names that nearly every response carries, found by their bytes: making a name anew allocates and lower-cases.
enum FieldNames {
    /// What a field says about the framing of its message.
    enum Role {
        case contentLength
        case transferEncoding
        case connection
    }

    /// A name, and what it means to whoever parses the head.
    struct Known: Sendable {
        let name: HTTPField.Name
        let role: Role?

        init(_ name: HTTPField.Name) {
            self.name = name
            role =
                switch name {
                case .contentLength: .contentLength
                case .transferEncoding: .transferEncoding
                case .connection: .connection
                default: nil
                }
        }
    }

    private struct Entry: Sendable {
        let bytes: [UInt8]
        let known: Known
    }

    /// By length, as most servers write them and in lower case.
    private static let common: [[Entry]] = {
        let names: [HTTPField.Name] = [
            .date, .server, .contentLength, .contentType, .connection, .setCookie, .location, .cacheControl, .eTag,
            .lastModified, .acceptRanges, .expires, .vary, .contentEncoding, .transferEncoding, .age, .via,
            .strictTransportSecurity, .contentRange,
        ]
        var table: [[Entry]] = Array(repeating: [], count: 32)
        for name in names {
            let usual = Known(name)
            table[name.rawName.utf8.count].append(Entry(bytes: Array(name.rawName.utf8), known: usual))
            guard let lower = HTTPField.Name(name.canonicalName) else { continue }
            table[name.rawName.utf8.count].append(Entry(bytes: Array(lower.rawName.utf8), known: Known(lower)))
        }
        return table
    }()

    /// The name of these bytes, its case kept; nil if they are not a token (RFC 9110 §5.6.2).
    static func name(_ bytes: UnsafeRawBufferPointer) -> Known? {
        if bytes.count < common.count {
            for entry in common[bytes.count] where entry.bytes.elementsEqual(bytes) { return entry.known }
        }
        return HTTPField.Name(String(decoding: bytes, as: UTF8.self)).map(Known.init)
    }

    /// The name of these bytes as HTTP/2 writes it, in lower case (RFC 9113 §8.2.1), pseudo fields included; nil if it is
    /// none.
    static func lowerCaseName(_ bytes: UnsafeRawBufferPointer) -> HTTPField.Name? {
        HTTPField.Name(parsed: String(decoding: bytes, as: UTF8.self))
    }
}
