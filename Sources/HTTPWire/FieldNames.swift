// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// Common field names, looked up by their bytes. Creating a name allocates memory and lower-cases it.
package enum FieldNames {
    /// A name and its role in framing.
    struct Known: Sendable {
        let name: HTTPField.Name
        let role: HTTP1Framing.Field?

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

    /// Indexed by length. Each name is stored in its usual case and in lower case.
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

    /// The name with these bytes, its case preserved; nil if they are not a token (RFC 9110 §5.6.2).
    static func name(_ bytes: Bytes) -> Known? {
        if bytes.count < common.count {
            for entry in common[bytes.count] where entry.bytes.elementsEqual(bytes) { return entry.known }
        }
        return HTTPField.Name(String(decoding: bytes, as: UTF8.self)).map(Known.init)
    }

    /// The name with these bytes in HTTP/2's lower case (RFC 9113 §8.2.1), including pseudo-header names; nil if they are not a
    /// valid name.
    package static func lowerCaseName(_ bytes: Bytes) -> HTTPField.Name? {
        HTTPField.Name(parsed: String(decoding: bytes, as: UTF8.self))
    }
}
