// SPDX-License-Identifier: Apache-2.0

import HTTPDNS

/// The content of records as master files write it (RFC 1035 §5.1), which is how JSON has it too.
enum RecordText {
    /// The text of a content; that of types without a form here, or not in their form, in hexadecimal (RFC 3597 §5).
    static func write(_ type: DNSType, _ octets: [UInt8]) -> String {
        let text: String? =
            switch type.rawValue {
            case 2, 12: name(octets[...])
            case 15: numbered(octets, 1)
            case 33: numbered(octets, 3)
            case 16: strings(octets)
            default: nil
            }
        return text ?? "\\# \(octets.count) \(Hex.encode(octets))"
    }

    /// So many numbers of 16 bits, and a name.
    private static func numbered(_ octets: [UInt8], _ count: Int) -> String? {
        guard octets.count > count * 2, let name = name(octets[(count * 2)...]) else { return nil }
        let numbers = (0..<count).map { String(Int(octets[$0 * 2]) << 8 | Int(octets[$0 * 2 + 1])) }
        return (numbers + [name]).joined(separator: " ")
    }

    /// A name that is written out and has nothing behind it.
    private static func name(_ octets: ArraySlice<UInt8>) -> String? {
        guard octets.count <= DNSName.maxOctets else { return nil }
        var index = octets.startIndex
        while index < octets.endIndex, octets[index] != 0 {
            guard octets[index] < 64 else { return nil }
            index += 1 + Int(octets[index])
        }
        guard index == octets.endIndex - 1 else { return nil }
        return JSONDialect.dotted(DNSName(wire: Array(octets)))
    }

    /// Texts with their lengths, each in quotation marks.
    private static func strings(_ octets: [UInt8]) -> String? {
        var texts: [String] = []
        var rest = octets[...]
        while let length = rest.popFirst() {
            guard rest.count >= Int(length) else { return nil }
            texts.append("\"\(rest.prefix(Int(length)).map(escaped).joined())\"")
            rest = rest.dropFirst(Int(length))
        }
        return texts.isEmpty ? nil : texts.joined(separator: " ")
    }

    private static func escaped(_ octet: UInt8) -> String {
        switch octet {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): return "\\" + String(Unicode.Scalar(octet))
        case 0x20...0x7e: return String(Unicode.Scalar(octet))
        default:
            let digits = String(octet)
            return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
        }
    }
}
