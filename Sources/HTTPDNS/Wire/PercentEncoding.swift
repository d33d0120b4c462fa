// SPDX-License-Identifier: Apache-2.0

/// Percent-encoding of a query's names and values.
enum PercentEncoding {
    private static let hexadecimal = Array("0123456789ABCDEF".utf8)

    /// The text with everything but RFC 3986's unreserved characters encoded.
    static func query(_ text: String) -> String {
        if text.utf8.allSatisfy(isUnreserved) { return text }
        var result: [UInt8] = []
        for octet in text.utf8 {
            if isUnreserved(octet) {
                result.append(octet)
            } else {
                result += [UInt8(ascii: "%"), hexadecimal[Int(octet >> 4)], hexadecimal[Int(octet & 15)]]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func isUnreserved(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
