// SPDX-License-Identifier: Apache-2.0

public import Names

/// Values by domain. A name has the value of the longest domain that contains it, compared by whole labels.
public struct DomainMap<Value: Sendable>: Sendable, ExpressibleByDictionaryLiteral {
    private var values: [String: Value] = [:]
    private var sketch = DomainSketch()

    /// A map without domains.
    package init() {}

    /// The map of these domains. Texts that are not domains are ignored; the last of repeated domains counts.
    public init(dictionaryLiteral elements: (String, Value)...) {
        for (domain, value) in elements { set(domain, value) }
    }

    /// Sets the value of a domain and its subdomains. Ignores a leading dot or `*.` and a final dot.
    ///
    /// - Returns: Whether the text was a domain.
    @discardableResult
    public mutating func set(_ domain: String, _ value: Value) -> Bool {
        var text = domain[...]
        if text.hasPrefix("*.") { text = text.dropFirst(2) } else if text.hasPrefix(".") { text = text.dropFirst() }
        guard let name = try? Host(text).withoutFinalDot, !name.isEmpty else { return false }
        values[name] = value
        sketch.insert(name)
        return true
    }

    /// Adds all domains of another map. Its values replace existing ones.
    mutating func merge(_ other: DomainMap) {
        values.merge(other.values) { $1 }
        sketch.formUnion(other.sketch)
    }

    /// The number of domains.
    package var count: Int { values.count }

    /// The value of a domain itself. Values of domains that contain it do not count.
    package func exact(_ host: Host) -> Value? { values[host.withoutFinalDot] }

    /// The values of all domains.
    package var allValues: [Value] { Array(values.values) }

    /// The map with other values for the same domains.
    package func mapValues<Other>(_ transform: (Value) -> Other) -> DomainMap<Other> {
        var map = DomainMap<Other>()
        (map.values, map.sketch) = (values.mapValues(transform), sketch)
        return map
    }

    /// Whether the map is empty.
    package var isEmpty: Bool { values.isEmpty }

    /// The value for a name: its own, or that of its parent, and so on.
    public subscript(host: Host) -> Value? { closest(to: host)?.value }

    /// The value for a name, and the length of the domain that has it, in octets.
    package func closest(to host: Host) -> (length: Int, value: Value)? {
        guard !values.isEmpty else { return nil }
        let name = host.withoutFinalDot
        if sketch.mayContain(name.utf8), let value = values[name] { return (name.utf8.count, value) }
        guard host.address == nil else { return nil }
        var rest = name.utf8[...]
        while let dot = rest.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[rest.index(after: dot)...]
            if sketch.mayContain(rest), let value = values[String(Substring(rest))] { return (rest.count, value) }
        }
        return nil
    }
}

/// A Bloom filter over the length and ends of names: most names that are not in a map are rejected without a string or
/// a hash.
private struct DomainSketch: Hashable, Sendable {
    private var bits: UInt64 = 0

    mutating func insert(_ name: String) {
        bits |= 1 << Self.place(of: name.utf8)
    }

    mutating func formUnion(_ other: DomainSketch) {
        bits |= other.bits
    }

    /// Whether the map may contain the name; if false, it does not.
    func mayContain(_ name: some BidirectionalCollection<UInt8>) -> Bool { bits >> Self.place(of: name) & 1 == 1 }

    private static func place(of name: some BidirectionalCollection<UInt8>) -> Int {
        (name.count &* 13 &+ Int(name.first ?? 0) &* 5 &+ Int(name.last ?? 0)) & 63
    }
}

extension DomainMap: Equatable where Value: Equatable {}
extension DomainMap: Hashable where Value: Hashable {}
