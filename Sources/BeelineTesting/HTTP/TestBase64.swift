// SPDX-License-Identifier: Apache-2.0

/// Base64 (RFC 4648 §4 and, for DNS in a URL, §5). This module does not use the library's codec, so that the tests verify the
/// library independently.
enum TestBase64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for index in 0..<4 {
                text.append(index <= group.count ? alphabet[bits >> (18 - 6 * index) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes either alphabet, padded or not; nil for any other text.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var bits = 0
        var count = 0
        for var byte in text.utf8 where byte != UInt8(ascii: "=") {
            if byte == UInt8(ascii: "-") { byte = UInt8(ascii: "+") }
            if byte == UInt8(ascii: "_") { byte = UInt8(ascii: "/") }
            guard let value = alphabet.firstIndex(of: byte) else { return nil }
            bits = (bits << 6 | value) & 0xfff
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(bits >> count & 255))
            }
        }
        return bytes
    }
}
