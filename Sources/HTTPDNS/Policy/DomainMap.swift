// SPDX-License-Identifier: Apache-2.0

public import Names

/// Values by domain: a name has that of the longest domain that it is in, by whole labels.
public struct DomainMap<Value: Sendable>: Sendable, ExpressibleByDictionaryLiteral {
    private var values: [String: Value] = [:]
    private var lengths = DomainLengths()

    /// A map without domains.
    public init() {}

    /// The map of these domains. Texts that are not domains are left out; of repeated ones the last counts.
    public init(dictionaryLiteral elements: (String, Value)...) {
        for (domain, value) in elements { set(domain, value) }
    }

    /// Sets the value of a domain and everything below it; whether the text was a domain. A leading dot or `*.` and a
    /// final dot are not minded.
    @discardableResult
    public mutating func set(_ domain: String, _ value: Value) -> Bool {
        guard let name = DomainName.canonical(domain) else { return false }
        values[name] = value
        lengths.insert(name)
        return true
    }

    /// Takes all domains of another map; of those that both have, its values count.
    mutating func merge(_ other: DomainMap) {
        values.merge(other.values) { $1 }
        lengths.formUnion(other.lengths)
    }

    /// Whether the map is empty.
    public var isEmpty: Bool { values.isEmpty }

    /// The value for a name.
    public subscript(host: Host) -> Value? {
        guard !values.isEmpty else { return nil }
        return DomainName.first(of: host, lengths) { values[$0] }
    }
}

/// Domains as sets and maps of them hold them.
enum DomainName {
    /// A domain as it is kept; nil for a text that is none.
    static func canonical(_ text: String) -> String? {
        var text = text[...]
        if text.hasPrefix("*.") { text = text.dropFirst(2) } else if text.hasPrefix(".") { text = text.dropFirst() }
        guard let host = try? Host(text) else { return nil }
        let name = host.withoutFinalDot
        return name.isEmpty ? nil : name
    }

    /// The first value that is found for the name, its parent, and so on.
    ///
    /// - Parameter lengths: The lengths of the names that have values; others are not looked for.
    static func first<Value>(of host: Host, _ lengths: DomainLengths, _ value: (String) -> Value?) -> Value? {
        var name = host.withoutFinalDot
        if lengths.contains(name.utf8.count), let value = value(name) { return value }
        guard host.address == nil else { return nil }
        return name.withUTF8 { name in
            var rest = name[...]
            while let dot = rest.firstIndex(of: UInt8(ascii: ".")) {
                rest = rest[(dot + 1)...]
                if lengths.contains(rest.count), let value = value(String(decoding: rest, as: UTF8.self)) {
                    return value
                }
            }
            return nil
        }
    }
}

/// Which lengths the names of a map have: most names that are not in it are told from that, without a string or a hash.
struct DomainLengths: Hashable, Sendable {
    /// Bit 63 stands for all lengths from 63.
    private var bits: UInt64 = 0

    mutating func insert(_ name: String) {
        bits |= 1 << UInt64(min(name.utf8.count, 63))
    }

    mutating func formUnion(_ other: DomainLengths) {
        bits |= other.bits
    }

    func contains(_ length: Int) -> Bool { bits >> UInt64(min(length, 63)) & 1 == 1 }
}

extension DomainMap: Equatable where Value: Equatable {}
extension DomainMap: Hashable where Value: Hashable {}
