// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore

extension MessageFields {
    /// The end-to-end fields as `HTTPFields`.
    var httpFields: HTTPFields {
        var fields = HTTPFields()
        for line in endToEnd.readableBytesView.split(separator: UInt8(ascii: "\n")) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
            else { continue }
            // Skip the colon and the space before the value, and the carriage return after it.
            fields.append(HTTPField(name: name, lenientValue: line[colon...].dropFirst(2).dropLast()))
        }
        return fields
    }

    /// The same fields with other end-to-end fields.
    func replacing(_ fields: HTTPFields) -> MessageFields {
        var bytes = ByteBuffer()
        for field in fields {
            bytes.writeString(field.name.rawName)
            bytes.writeStaticString(": ")
            field.withUnsafeBytesOfValue { _ = bytes.writeBytes($0) }
            bytes.writeStaticString("\r\n")
        }
        var copy = self
        copy.endToEnd = bytes
        return copy
    }
}
