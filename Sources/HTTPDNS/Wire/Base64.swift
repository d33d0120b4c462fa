// SPDX-License-Identifier: Apache-2.0

/// Base64 (RFC 4648), as upstreams' protocols use it.
package enum Base64 {
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    /// The form for URLs (§5), without padding.
    package static func urlSafe(_ octets: [UInt8]) -> String {
        let alphabet = letters + [UInt8(ascii: "-"), UInt8(ascii: "_")]
        return String(unsafeUninitializedCapacity: (octets.count * 4 + 2) / 3) { text in
            var length = 0
            var bits: UInt32 = 0
            var held = 0
            for octet in octets {
                bits = bits << 8 | UInt32(octet)
                held += 8
                while held >= 6 {
                    held -= 6
                    text[length] = alphabet[Int(bits >> UInt32(held) & 63)]
                    length += 1
                }
            }
            if held > 0 {
                text[length] = alphabet[Int(bits << UInt32(6 - held) & 63)]
                length += 1
            }
            return length
        }
    }

    /// The octets of a text in the ordinary form or the form for URLs, with or without padding; nil where a character
    /// belongs to neither or bits are left over.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var octets: [UInt8] = []
        var bits: UInt32 = 0
        var held = 0
        var body = Array(text.utf8)[...]
        while body.last == UInt8(ascii: "=") { body = body.dropLast() }
        guard text.utf8.count - body.count <= 2 else { return nil }
        for letter in body {
            let value: UInt32
            switch letter {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = UInt32(letter) - 65
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = UInt32(letter) - 71
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = UInt32(letter) + 4
            case UInt8(ascii: "+"), UInt8(ascii: "-"): value = 62
            case UInt8(ascii: "/"), UInt8(ascii: "_"): value = 63
            default: return nil
            }
            bits = bits << 6 | value
            held += 6
            if held >= 8 {
                held -= 8
                octets.append(UInt8(truncatingIfNeeded: bits >> UInt32(held)))
            }
        }
        guard held < 6, bits & (1 << UInt32(held) - 1) == 0 else { return nil }
        return octets
    }
}
