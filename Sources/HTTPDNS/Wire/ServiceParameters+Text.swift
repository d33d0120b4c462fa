// SPDX-License-Identifier: Apache-2.0

import Names

/// The parameters in the text form of master files (RFC 9460 §2.1).
extension ServiceParameters {
    /// An error in the text form.
    package struct Fault: Error {
        /// One line that names the word at fault.
        package let message: String
    }

    // MARK: From text

    /// Reads `key=value` words in any order. Quotation marks and escapes of the words are already resolved.
    package init(words: [[UInt8]]) throws(Fault) {
        var values: [UInt16: [UInt8]] = [:]
        for word in words {
            let mark = word.firstIndex(of: UInt8(ascii: "=")) ?? word.endIndex
            let name = String(decoding: word[..<mark], as: UTF8.self)
            guard let key = Key(name: name) else { throw Fault(message: "\"\(name)\" is not a parameter's key") }
            guard values[key.rawValue] == nil else { throw Fault(message: "\(name) is given twice") }
            let text = Array(word[mark...].dropFirst())
            // The value of a generic key (`key3=…`) is taken as octets, without interpretation.
            guard let value = name.hasPrefix("key") ? text : key.value(of: text), value.count <= 65_535 else {
                throw Fault(message: "\"\(String(decoding: text, as: UTF8.self))\" is not a value of \(name)")
            }
            values[key.rawValue] = value
        }
        for number in Self.numbers(values[0] ?? []) where values[number] == nil {
            throw Fault(message: "\(Key(rawValue: number).name) is mandatory, but missing")
        }
        if values[Key.noDefaultALPN.rawValue] != nil, values[Key.alpn.rawValue] == nil {
            throw Fault(message: "no-default-alpn needs alpn")
        }
        let sorted = values.sorted { $0.key < $1.key }
        guard let read = Self(sorted.map { Parameter(key: Key(rawValue: $0.key), value: $0.value) }) else {
            throw Fault(message: "a parameter has a value that is not valid for its key")
        }
        self = read
    }

    // MARK: To text

    /// The parameters as words, `key=value` or `key`.
    package var words: [String] {
        all.map { parameter in
            let text = parameter.key.text(of: parameter.value)
            // A path that is not text has the generic form of its key.
            let isGeneric =
                parameter.key == .dohpath && (text.isEmpty || String(validUTF8: text) == nil)
            let name = isGeneric ? "key\(parameter.key.rawValue)" : parameter.key.name
            return text.isEmpty ? name : "\(name)=\(MasterText.word(text))"
        }
    }
}

extension ServiceParameters.Key {
    private static let names: [Self: String] = [
        .mandatory: "mandatory", .alpn: "alpn", .noDefaultALPN: "no-default-alpn", .port: "port",
        .ipv4hint: "ipv4hint", .ech: "ech", .ipv6hint: "ipv6hint", .dohpath: "dohpath",
    ]

    var name: String { Self.names[self] ?? "key\(rawValue)" }

    /// The key with a name or `keyNNN`; nil for others, and for key 65535, which is reserved (RFC 9460 §14.3.2).
    init?(name: String) {
        if let known = Self.names.first(where: { $0.value == name }) {
            self = known.key
            return
        }
        guard name.hasPrefix("key"), let number = UInt16(name.dropFirst(3)), "key\(number)" == name, number != .max
        else { return nil }
        self.init(rawValue: number)
    }

    /// The wire format of a value in text form; nil if it is malformed.
    fileprivate func value(of text: [UInt8]) -> [UInt8]? {
        let string = String(decoding: text, as: UTF8.self)
        let parts = string.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        switch self {
        case .mandatory:
            let numbers = parts.compactMap { Self(name: $0)?.rawValue }
            guard numbers.count == parts.count, Set(numbers).count == parts.count, !numbers.contains(0) else {
                return nil
            }
            return Self.wire(numbers.sorted())
        case .alpn:
            let names = Self.list(text)
            guard names.allSatisfy({ (1...255).contains($0.count) }) else { return nil }
            return names.flatMap { [UInt8($0.count)] + $0 }
        case .noDefaultALPN: return text.isEmpty ? [] : nil
        case .port:
            guard text.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            return UInt16(string).map { Self.wire([$0]) }
        case .ipv4hint, .ipv6hint:
            let addresses = parts.compactMap { IPAddress($0) }.filter { ($0.family == .v4) == (self == .ipv4hint) }
            return addresses.count == parts.count ? addresses.flatMap { Array($0.octets) } : nil
        case .ech: return Base64.decode(string).flatMap { $0.isEmpty ? nil : $0 }
        case .dohpath: return text.isEmpty || String(validUTF8: text) == nil ? nil : text
        default: return text
        }
    }

    /// The text form of a valid value, without quotation marks.
    fileprivate func text(of value: [UInt8]) -> [UInt8] {
        switch self {
        case .mandatory, .port:
            let numbers = ServiceParameters.numbers(value)
            let texts = numbers.map { self == .port ? "\($0)" : Self(rawValue: $0).name }
            return Array(texts.joined(separator: ",").utf8)
        case .alpn:
            let names = (ServiceParameters.strings(value) ?? []).map { name in
                name.flatMap { [0x2c, 0x5c].contains($0) ? [0x5c, $0] : [$0] }
            }
            return Array(names.joined(separator: [0x2c]))
        case .ipv4hint, .ipv6hint:
            let addresses = ServiceParameters.addresses(value, self == .ipv4hint ? .v4 : .v6) ?? []
            return Array(addresses.map(\.description).joined(separator: ",").utf8)
        case .ech: return Array(Base64.encode(value).utf8)
        default: return value
        }
    }

    private static func wire(_ numbers: [UInt16]) -> [UInt8] {
        numbers.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] }
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
}
