// SPDX-License-Identifier: Apache-2.0

public import Names

/// Values by domain: a name has that of the longest domain that it is in, by whole labels.
public struct DomainMap<Value: Sendable>: Sendable, ExpressibleByDictionaryLiteral {
    private var values: [String: Value] = [:]

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
        return true
    }

    /// Whether the map is empty.
    public var isEmpty: Bool { values.isEmpty }

    /// The value for a name.
    public subscript(host: Host) -> Value? {
        guard !values.isEmpty else { return nil }
        return DomainName.first(of: host) { values[$0] }
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
    static func first<Value>(of host: Host, _ value: (String) -> Value?) -> Value? {
        let name = host.withoutFinalDot
        if let value = value(name) { return value }
        guard host.address == nil else { return nil }
        var rest = name[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            if let value = value(String(rest)) { return value }
        }
        return nil
    }
}

extension DomainMap: Equatable where Value: Equatable {}
extension DomainMap: Hashable where Value: Hashable {}
