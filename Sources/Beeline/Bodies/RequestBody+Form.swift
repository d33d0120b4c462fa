// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP

extension RequestBody {
    /// A form as `application/x-www-form-urlencoded` (WHATWG URL §5.2), with that `Content-Type`.
    ///
    /// - Parameter fields: names and values in their order; a name may come several times.
    public static func form(_ fields: KeyValuePairs<String, String>) -> RequestBody {
        form(fields.map { ($0.key, $0.value) })
    }

    /// A form as `application/x-www-form-urlencoded` (WHATWG URL §5.2), with that `Content-Type`.
    ///
    /// - Parameter fields: names and values in their order; a name may come several times.
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

    private static func encode(_ text: String, into bytes: inout [UInt8]) {
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"):
                bytes.append(byte)
            case 0x20: bytes.append(UInt8(ascii: "+"))
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
    }
}
