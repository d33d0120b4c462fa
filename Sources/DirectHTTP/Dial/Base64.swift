// SPDX-License-Identifier: Apache-2.0

/// The Base 64 encoding of RFC 4648 §4, for credentials; Foundation is not a dependency of this target.
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
            for sextet in 0..<4 {
                let index = Int(bits >> UInt32(18 - 6 * sextet)) & 63
                text.append(sextet <= group.count ? alphabet[index] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of a text with its padding; nil for anything else.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let all = Array(text.utf8)
        guard all.count % 4 == 0 else { return nil }
        let sextets = all.prefix { $0 != UInt8(ascii: "=") }
        guard all.count - sextets.count <= 2, all[sextets.count...].allSatisfy({ $0 == UInt8(ascii: "=") }) else {
            return nil
        }
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for character in sextets {
            guard let value = alphabet.firstIndex(of: character) else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            bits &= (1 << UInt32(count)) - 1
        }
        return bits == 0 ? bytes : nil
    }
}
