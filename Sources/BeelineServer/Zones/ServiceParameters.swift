// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// The parameters of SVCB and HTTPS records, in the text form of master files (RFC 9460 §2.1) and in wire format (§2.2).
enum ServiceParameters {
    /// An error in the text form.
    struct Fault: Error {
        let message: String
    }

    /// The keys that have names: the keys of RFC 9460 §14.3.2, and `dohpath` of RFC 9461.
    private enum Key: UInt16, CaseIterable {
        case mandatory, alpn, noDefaultALPN, port, ipv4hint, ech, ipv6hint, dohpath

        var name: String { self == .noDefaultALPN ? "no-default-alpn" : "\(self)" }
    }

    // MARK: From text

    /// Encodes `key=value` words, sorted by key.
    static func read(_ words: [ZoneText.Word]) throws(Fault) -> [UInt8] {
        var values: [UInt16: [UInt8]] = [:]
        for word in words {
            let mark = word.octets.firstIndex(of: 0x3d) ?? word.octets.endIndex
            let name = String(decoding: word.octets[..<mark].map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
            guard let number = number(of: name) else { throw Fault(message: "\"\(name)\" is not a parameter's key") }
            guard values[number] == nil else { throw Fault(message: "\(name) is given twice") }
            // The value of a generic key (`key3=…`) is taken as octets, without interpretation.
            let key = name.hasPrefix("key") ? nil : Key(rawValue: number)
            let text = word.octets[mark...].dropFirst().map { UInt8(truncatingIfNeeded: $0) }
            guard let value = value(of: key, text), value.count <= 65_535 else {
                throw Fault(message: "\"\(String(decoding: text, as: UTF8.self))\" is not a value of \(name)")
            }
            values[number] = value
        }
        for number in pairs(values[0] ?? []) where values[number] == nil {
            throw Fault(message: "\(name(of: number)) is mandatory, but missing")
        }
        if values[Key.noDefaultALPN.rawValue] != nil, values[Key.alpn.rawValue] == nil {
            throw Fault(message: "no-default-alpn needs alpn")
        }
        return values.sorted { $0.key < $1.key }.flatMap { big($0.key) + big(UInt16($0.value.count)) + $0.value }
    }

    private static func value(of key: Key?, _ text: [UInt8]) -> [UInt8]? {
        let string = String(decoding: text, as: UTF8.self)
        switch key {
        case nil: return text
        case .mandatory:
            let numbers = string.split(separator: ",", omittingEmptySubsequences: false).map { number(of: String($0)) }
            let known = Set(numbers.compactMap { $0 })
            guard known.count == numbers.count, !known.contains(Key.mandatory.rawValue) else { return nil }
            return known.sorted().flatMap(big)
        case .alpn:
            let names = list(text)
            guard names.allSatisfy({ (1...255).contains($0.count) }) else { return nil }
            return names.flatMap { [UInt8($0.count)] + $0 }
        case .noDefaultALPN: return text.isEmpty ? [] : nil
        case .port:
            guard text.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            return UInt16(string).map(big)
        case .ipv4hint: return hints(string, .v4)
        case .ipv6hint: return hints(string, .v6)
        case .ech: return Base64.decode(string).flatMap { $0.isEmpty ? nil : $0 }
        case .dohpath: return text.isEmpty || String(validating: text, as: UTF8.self) == nil ? nil : text
        }
    }

    private static func hints(_ text: String, _ family: IPAddress.Family) -> [UInt8]? {
        var octets: [UInt8] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let address = IPAddress(String(part)), address.family == family else { return nil }
            octets += address.octets
        }
        return octets
    }

    /// Splits a list at commas. A backslash escapes a comma or a backslash (RFC 9460 A.1).
    private static func list(_ text: [UInt8]) -> [[UInt8]] {
        var items: [[UInt8]] = [[]]
        var isEscaped = false
        for octet in text {
            if !isEscaped, octet == UInt8(ascii: "\\") {
                isEscaped = true
            } else if !isEscaped, octet == UInt8(ascii: ",") {
                items.append([])
            } else {
                items[items.count - 1].append(octet)
                isEscaped = false
            }
        }
        return items
    }

    // MARK: To text

    /// Writes the parameters of a record as words. Nil if they are malformed.
    static func write(_ octets: ArraySlice<UInt8>) -> [String]? {
        var words: [String] = []
        var rest = octets
        var last = -1
        while !rest.isEmpty {
            guard rest.count >= 4 else { return nil }
            let head = pairs(rest.prefix(4))
            let (number, length) = (head[0], Int(head[1]))
            guard Int(number) > last, number != .max, rest.count >= 4 + length else { return nil }
            last = Int(number)
            let value = rest.dropFirst(4).prefix(length)
            guard let text = text(of: Key(rawValue: number), value) else { return nil }
            words.append(text.isEmpty ? name(of: number) : "\(name(of: number))=\(RecordText.word(text))")
            rest = rest.dropFirst(4 + length)
        }
        return words
    }

    private static func text(of key: Key?, _ value: ArraySlice<UInt8>) -> [UInt8]? {
        switch key {
        case nil: return Array(value)
        case .mandatory:
            guard !value.isEmpty, value.count % 2 == 0 else { return nil }
            return Array(pairs(value).map(name).joined(separator: ",").utf8)
        case .alpn:
            var names: [[UInt8]] = []
            var rest = value
            while let length = rest.popFirst() {
                guard length > 0, rest.count >= Int(length) else { return nil }
                names.append(rest.prefix(Int(length)).flatMap { [0x2c, 0x5c].contains($0) ? [0x5c, $0] : [$0] })
                rest = rest.dropFirst(Int(length))
            }
            return names.isEmpty ? nil : Array(names.joined(separator: [0x2c]))
        case .noDefaultALPN: return value.isEmpty ? [] : nil
        case .port: return value.count == 2 ? Array("\(pairs(value)[0])".utf8) : nil
        case .ipv4hint: return addresses(value, size: 4)
        case .ipv6hint: return addresses(value, size: 16)
        case .ech: return value.isEmpty ? nil : Array(Base64.encode(value).utf8)
        case .dohpath: return value.isEmpty || String(validating: value, as: UTF8.self) == nil ? nil : Array(value)
        }
    }

    private static func addresses(_ value: ArraySlice<UInt8>, size: Int) -> [UInt8]? {
        guard !value.isEmpty, value.count % size == 0 else { return nil }
        let texts = stride(from: value.startIndex, to: value.endIndex, by: size).compactMap { start in
            IPAddress(octets: Array(value[start..<(start + size)]))?.description
        }
        return Array(texts.joined(separator: ",").utf8)
    }

    // MARK: Numbers

    private static func name(of number: UInt16) -> String { Key(rawValue: number)?.name ?? "key\(number)" }

    private static func number(of name: String) -> UInt16? {
        if let key = Key.allCases.first(where: { $0.name == name }) { return key.rawValue }
        guard name.hasPrefix("key"), let number = UInt16(name.dropFirst(3)), "key\(number)" == name else { return nil }
        // Key 65535 is reserved (RFC 9460 §14.3.2).
        return number == .max ? nil : number
    }

    private static func big(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xff)] }

    /// Reads big-endian 16-bit numbers.
    private static func pairs(_ octets: some Collection<UInt8>) -> [UInt16] {
        let octets = Array(octets)
        return stride(from: 0, to: octets.count - 1, by: 2).map { UInt16(octets[$0]) << 8 | UInt16(octets[$0 + 1]) }
    }
}
