// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
import Names

extension RequestBody {
    /// A form as `application/x-www-form-urlencoded` (WHATWG URL §5.2), with that `Content-Type`.
    ///
    /// - Parameter fields: Names and values, in sending order. A name may occur several times.
    public static func form(_ fields: KeyValuePairs<String, String>) -> RequestBody {
        form(fields.map { ($0.key, $0.value) })
    }

    /// A form as `application/x-www-form-urlencoded` (WHATWG URL §5.2), with that `Content-Type`.
    ///
    /// - Parameter fields: Names and values, in sending order. A name may occur several times.
    public static func form(_ fields: [(name: String, value: String)]) -> RequestBody {
        var bytes: [UInt8] = []
        for field in fields {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
            encode(field.name, into: &bytes)
            bytes.append(UInt8(ascii: "="))
            encode(field.value, into: &bytes)
        }
        var body = RequestBody.bytes(bytes)
        body.contentType = "application/x-www-form-urlencoded"
        return body
    }

    /// Percent-encodes `text`, but encodes a space as a plus sign.
    private static func encode(_ text: String, into bytes: inout [UInt8]) {
        for byte in PercentEncoding.encode(text, keeping: .init("*-._ ")).utf8 {
            bytes.append(byte == UInt8(ascii: " ") ? UInt8(ascii: "+") : byte)
        }
    }
}
