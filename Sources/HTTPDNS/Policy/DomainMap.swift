// SPDX-License-Identifier: Apache-2.0

public import Names

/// Values by domain: a name has that of the longest domain that it is in, by whole labels.
public struct DomainMap<Value: Sendable>: Sendable, ExpressibleByDictionaryLiteral {
    private var values: [String: Value] = [:]
    private var sketch = DomainSketch()

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
        sketch.insert(name)
        return true
    }

    /// Takes all domains of another map; of those that both have, its values count.
    mutating func merge(_ other: DomainMap) {
        values.merge(other.values) { $1 }
        sketch.formUnion(other.sketch)
    }

    /// Whether the map is empty.
    public var isEmpty: Bool { values.isEmpty }

    /// The value for a name.
    public subscript(host: Host) -> Value? {
        guard !values.isEmpty else { return nil }
        return DomainName.first(of: host, sketch) { values[$0] }
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
    /// - Parameter sketch: Of the names that have values; others are not looked for.
    static func first<Value>(of host: Host, _ sketch: DomainSketch, _ value: (String) -> Value?) -> Value? {
        let name = host.withoutFinalDot
        if sketch.mayHold(name.utf8), let value = value(name) { return value }
        guard host.address == nil else { return nil }
        var rest = name.utf8[...]
        while let dot = rest.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[rest.index(after: dot)...]
            if sketch.mayHold(rest), let value = value(String(Substring(rest))) { return value }
        }
        return nil
    }
}

/// Which names a map may have, told from their lengths and ends: most that are not in it need no string and no hash.
struct DomainSketch: Hashable, Sendable {
    private var bits: UInt64 = 0

    mutating func insert(_ name: String) {
        bits |= 1 << Self.place(of: name.utf8)
    }

    mutating func formUnion(_ other: DomainSketch) {
        bits |= other.bits
    }

    /// Whether there may be such a name; false where there is none.
    func mayHold(_ name: some BidirectionalCollection<UInt8>) -> Bool { bits >> Self.place(of: name) & 1 == 1 }

    private static func place(of name: some BidirectionalCollection<UInt8>) -> Int {
        (name.count &* 13 &+ Int(name.first ?? 0) &* 5 &+ Int(name.last ?? 0)) & 63
    }
}

extension DomainMap: Equatable where Value: Equatable {}
extension DomainMap: Hashable where Value: Hashable {}
