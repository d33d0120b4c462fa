// SPDX-License-Identifier: Apache-2.0

import Names

/// The parameters of an SVCB or HTTPS record: keys with values in ascending order (RFC 9460 §2.2). Unknown keys are
/// kept.
package struct ServiceParameters: Hashable, Sendable {
    /// The number of a parameter.
    package struct Key: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt16

        package init(rawValue: UInt16) { self.rawValue = rawValue }

        static let mandatory = Key(rawValue: 0)
        static let alpn = Key(rawValue: 1)
        static let noDefaultALPN = Key(rawValue: 2)
        static let port = Key(rawValue: 3)
        static let ipv4hint = Key(rawValue: 4)
        static let ech = Key(rawValue: 5)
        static let ipv6hint = Key(rawValue: 6)
        /// RFC 9461.
        static let dohpath = Key(rawValue: 7)

        /// The keys that a client of HTTPS records must understand if they are mandatory.
        static let understood: Set<Key> = [.mandatory, .alpn, .noDefaultALPN, .port, .ipv4hint, .ech, .ipv6hint]
    }

    /// A key with its value in wire format.
    struct Parameter: Hashable, Sendable {
        var key: Key
        var value: [UInt8]
    }

    let all: [Parameter]

    /// No parameters.
    init() { all = [] }

    /// Takes parameters in ascending order of their keys; nil if the order or a value is not valid.
    init?(_ parameters: [Parameter]) {
        guard zip(parameters, parameters.dropFirst()).allSatisfy({ $0.key.rawValue < $1.key.rawValue }),
            parameters.allSatisfy({ $0.key.rawValue != .max && $0.value.count <= 65_535 && Self.isValid($0) })
        else { return nil }
        all = parameters
        let mandatory = Self.numbers(self[.mandatory] ?? [])
        // A record is malformed if a key that it declares mandatory is missing (§8), or if no protocol is left
        // (§7.1.1).
        guard Self.has(mandatory, in: parameters),
            self[.noDefaultALPN] == nil || self[.alpn] != nil
        else { return nil }
    }

    /// Decodes the wire format, which must fill the octets; nil if it is malformed.
    package init?(wire: ArraySlice<UInt8>) {
        var parameters: [Parameter] = []
        var rest = wire
        while !rest.isEmpty {
            guard rest.count >= 4 else { return nil }
            let head = Self.numbers(rest.prefix(4))
            let length = Int(head[1])
            rest = rest.dropFirst(4)
            guard rest.count >= length else { return nil }
            parameters.append(Parameter(key: Key(rawValue: head[0]), value: Array(rest.prefix(length))))
            rest = rest.dropFirst(length)
        }
        self.init(parameters)
    }

    /// The wire format.
    package var wire: [UInt8] {
        var octets: [UInt8] = []
        for parameter in all {
            octets.append(big: parameter.key.rawValue)
            octets.append(big: UInt16(truncatingIfNeeded: parameter.value.count))
            octets += parameter.value
        }
        return octets
    }

    /// The value of a key in wire format; nil if it is absent.
    subscript(key: Key) -> [UInt8]? { all.first { $0.key == key }?.value }

    // MARK: Values

    /// The keys that a client must understand to use the record.
    var mandatory: [Key] { Self.numbers(self[.mandatory] ?? []).map(Key.init(rawValue:)) }

    /// The ALPN identifiers of `alpn`; empty if it is absent.
    var protocols: [[UInt8]] { self[.alpn].flatMap(Self.strings) ?? [] }

    var port: UInt16? { self[.port].map { Self.numbers($0)[0] } }

    func hints(_ family: IPAddress.Family) -> [IPAddress] {
        Self.addresses(self[family == .v4 ? .ipv4hint : .ipv6hint] ?? [], family) ?? []
    }

    /// Whether there is a parameter for each key. Both are in ascending order, and one pass finds them: a message has room
    /// for 10,000 of each.
    private static func has(_ keys: [UInt16], in parameters: [Parameter]) -> Bool {
        var rest = parameters[...]
        return keys.allSatisfy { key in
            rest = rest.drop { $0.key.rawValue < key }
            return rest.first?.key.rawValue == key
        }
    }

    // MARK: Wire format of values

    private static func isValid(_ parameter: Parameter) -> Bool {
        let value = parameter.value
        switch parameter.key {
        case .mandatory:
            let keys = numbers(value)
            return !value.isEmpty && value.count % 2 == 0 && keys[0] != 0
                && zip(keys, keys.dropFirst()).allSatisfy(<)
        case .alpn: return strings(value) != nil
        case .noDefaultALPN: return value.isEmpty
        case .port: return value.count == 2
        case .ipv4hint: return addresses(value, .v4) != nil
        case .ipv6hint: return addresses(value, .v6) != nil
        case .ech: return !value.isEmpty
        default: return true
        }
    }

    /// Splits strings with a length octet each; nil if there is none, or one is empty or incomplete.
    static func strings(_ value: [UInt8]) -> [[UInt8]]? {
        var strings: [[UInt8]] = []
        var rest = value[...]
        while let length = rest.popFirst() {
            guard length > 0, rest.count >= Int(length) else { return nil }
            strings.append(Array(rest.prefix(Int(length))))
            rest = rest.dropFirst(Int(length))
        }
        return strings.isEmpty ? nil : strings
    }

    /// Splits addresses; nil if there is none, or one is incomplete.
    static func addresses(_ value: [UInt8], _ family: IPAddress.Family) -> [IPAddress]? {
        let size = family == .v4 ? 4 : 16
        guard !value.isEmpty, value.count % size == 0 else { return nil }
        return stride(from: 0, to: value.count, by: size).compactMap { IPAddress(octets: value[$0..<($0 + size)]) }
    }

    /// Reads big-endian 16-bit numbers. A last odd octet is ignored.
    static func numbers(_ octets: some Collection<UInt8>) -> [UInt16] {
        let octets = Array(octets)
        return stride(from: 0, to: octets.count - 1, by: 2).map { octets.number(at: $0) }
    }
}
