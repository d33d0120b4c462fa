// SPDX-License-Identifier: Apache-2.0

/// Base64 (RFC 4648), written here so that the module does not need Foundation. Protocols differ in how strict a decoder must
/// be, so there are three decoders.
package enum Base64 {
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    private static let standardAlphabet = letters + Array("+/".utf8)
    private static let urlAlphabet = letters + Array("-_".utf8)
    private static let padding = UInt8(ascii: "=")

    /// The standard alphabet (§4), with padding.
    package static func encode(_ octets: some Collection<UInt8>) -> String {
        text(of: Array(octets), standardAlphabet, isPadded: true)
    }

    /// The URL-safe alphabet (§5), without padding, after `prefix`.
    package static func urlSafe(_ octets: some Collection<UInt8>, after prefix: String = "") -> String {
        text(of: Array(octets), urlAlphabet, isPadded: false, after: prefix)
    }

    // The loops take arrays because unspecialized generic code across modules is slow.
    private static func text(
        of octets: [UInt8],
        _ alphabet: [UInt8],
        isPadded: Bool,
        after prefix: String = ""
    ) -> String {
        var prefix = prefix
        let digits = (octets.count * 8 + 5) / 6
        let length = isPadded ? (digits + 3) / 4 * 4 : digits
        return String(capacity: prefix.utf8.count + length) { text in
            prefix.withOctets { text.append($0) }
            write(octets, alphabet, to: &text)
            for _ in digits..<length { text.append(padding) }
        }
    }

    private static func write(_ octets: [UInt8], _ alphabet: [UInt8], to text: inout OctetWriter) {
        var place = 0
        while place + 3 <= octets.count {
            let bits = UInt32(octets[place]) << 16 | UInt32(octets[place + 1]) << 8 | UInt32(octets[place + 2])
            text.append(alphabet[Int(bits >> 18)])
            text.append(alphabet[Int(bits >> 12 & 63)])
            text.append(alphabet[Int(bits >> 6 & 63)])
            text.append(alphabet[Int(bits & 63)])
            place += 3
        }
        // The unused bits of the last digit are zero.
        switch octets.count - place {
        case 1:
            text.append(alphabet[Int(octets[place] >> 2)])
            text.append(alphabet[Int(octets[place] & 3) << 4])
        case 2:
            let bits = UInt32(octets[place]) << 8 | UInt32(octets[place + 1])
            text.append(alphabet[Int(bits >> 10)])
            text.append(alphabet[Int(bits >> 4 & 63)])
            text.append(alphabet[Int(bits & 15) << 2])
        default: break
        }
    }

    /// Decodes the standard or the URL-safe alphabet, with or without padding. Returns nil for a character outside both
    /// alphabets and for nonzero leftover bits.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        decode(Array(String(text).utf8))
    }

    private static func decode(_ text: [UInt8]) -> [UInt8]? {
        var digits = text[...]
        while digits.last == padding { digits = digits.dropLast() }
        guard text.count - digits.count <= 2 else { return nil }
        return exact(octets(of: digits, urlSafe: true))
    }

    /// Decodes the standard alphabet with complete padding. Returns nil for any other text.
    package static func decodePadded(_ text: some StringProtocol) -> [UInt8]? {
        guard text.utf8.count % 4 == 0, let (digits, _) = parted(Array(text.utf8)) else { return nil }
        return exact(octets(of: digits, urlSafe: false))
    }

    /// Decodes Basic credentials: the standard alphabet, padded or not. Ignores leftover bits. Returns nil for any other text.
    package static func decodeCredentials(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard let (digits, paddings) = parted(Array(text)), paddings == 0 || (digits.count + paddings) % 4 == 0 else {
            return nil
        }
        return octets(of: digits, urlSafe: false)?.octets
    }

    /// The digits before the padding and the number of padding characters; nil if there are more than two or if other
    /// characters follow.
    private static func parted(_ text: [UInt8]) -> (digits: ArraySlice<UInt8>, paddings: Int)? {
        let digits = text.prefix { $0 != padding }
        let rest = text[digits.endIndex...]
        guard rest.count <= 2, rest.allSatisfy({ $0 == padding }) else { return nil }
        return (digits, rest.count)
    }

    private static func exact(_ read: (octets: [UInt8], leftOver: UInt32)?) -> [UInt8]? {
        read.flatMap { $0.leftOver == 0 ? $0.octets : nil }
    }

    /// The decoded octets and the leftover bits; nil if a character is not a digit or a single digit is left over.
    private static func octets(of digits: ArraySlice<UInt8>, urlSafe: Bool) -> (octets: [UInt8], leftOver: UInt32)? {
        var octets: [UInt8] = []
        octets.reserveCapacity(digits.count * 3 / 4)
        var bits: UInt32 = 0
        var held = 0
        for digit in digits {
            let value: UInt32
            switch digit {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = UInt32(digit) - 65
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = UInt32(digit) - 71
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = UInt32(digit) + 4
            case UInt8(ascii: "+"): value = 62
            case UInt8(ascii: "/"): value = 63
            case UInt8(ascii: "-") where urlSafe: value = 62
            case UInt8(ascii: "_") where urlSafe: value = 63
            default: return nil
            }
            bits = bits << 6 | value
            held += 6
            if held >= 8 {
                held -= 8
                octets.append(UInt8(truncatingIfNeeded: bits >> UInt32(held)))
            }
        }
        guard held < 6 else { return nil }
        return (octets, bits & (1 << UInt32(held) - 1))
    }
}
