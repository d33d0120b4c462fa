// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// The text form of record contents in master files (RFC 1035 §5.1), which DNS in JSON uses too.
enum RecordText {
    static func content(of record: DNSRecord) -> String {
        switch record.data {
        case .address(let address): return "\(address)"
        case .alias(let target): return target.absoluteText
        case .authority(let soa):
            let numbers = "\(soa.serial) \(soa.refresh) \(soa.retry) \(soa.expire) \(soa.minimum)"
            return "\(soa.primary.absoluteText) \(soa.mailbox.absoluteText) \(numbers)"
        case .other(let type, let octets): return write(type, octets)
        }
    }

    /// Writes the content of a record. Uses hexadecimal (RFC 3597 §5) for unsupported types and malformed content.
    static func write(_ type: DNSType, _ octets: [UInt8]) -> String {
        let text: String? =
            switch type.rawValue {
            case 2, 12: name(octets[...])
            case 15: numbered(octets, 1)
            case 33: numbered(octets, 3)
            case 16: strings(octets)
            // The text of an alias would lose its parameters.
            case 64, 65: HTTPSRecord(octets: octets).flatMap { $0.octets == octets ? $0.description : nil }
            case 257: authorization(octets)
            default: nil
            }
        return text ?? "\\# \(octets.count) \(Hex.encode(octets))"
    }

    /// Writes `count` 16-bit numbers and a name.
    private static func numbered(_ octets: [UInt8], _ count: Int) -> String? {
        guard octets.count > count * 2, let name = name(octets[(count * 2)...]) else { return nil }
        let numbers = (0..<count).map { String(Int(octets[$0 * 2]) << 8 | Int(octets[$0 * 2 + 1])) }
        return (numbers + [name]).joined(separator: " ")
    }

    /// Writes an uncompressed name that fills all the octets.
    private static func name(_ octets: ArraySlice<UInt8>) -> String? {
        var rest = octets
        return DNSName(takenFrom: &rest).flatMap { rest.isEmpty ? $0.absoluteText : nil }
    }

    /// CAA (RFC 8659 §4.1.1).
    private static func authorization(_ octets: [UInt8]) -> String? {
        guard octets.count >= 2, octets[1] > 0, octets.count >= 2 + Int(octets[1]) else { return nil }
        let tag = octets[2...].prefix(Int(octets[1]))
        guard let text = String(validUTF8: tag), text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else {
            return nil
        }
        return "\(octets[0]) \(text) \(MasterText.quoted(octets.dropFirst(2 + tag.count)))"
    }

    /// Writes character strings, each in quotation marks.
    private static func strings(_ octets: [UInt8]) -> String? {
        var texts: [String] = []
        var rest = octets[...]
        while let length = rest.popFirst() {
            guard rest.count >= Int(length) else { return nil }
            texts.append(MasterText.quoted(rest.prefix(Int(length))))
            rest = rest.dropFirst(Int(length))
        }
        return texts.isEmpty ? nil : texts.joined(separator: " ")
    }
}
