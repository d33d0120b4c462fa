// SPDX-License-Identifier: Apache-2.0

public import Names

/// A set of domains with everything below them: `example.com` holds `www.example.com` and not `notexample.com`.
public struct DomainSet: Hashable, Sendable, ExpressibleByArrayLiteral {
    private var domains: Set<String> = []
    private var lengths = DomainLengths()

    /// The set of these domains; a leading dot or `*.` and a final dot are not minded, and the domain itself always
    /// belongs. Texts that are not domains are left out.
    public init(_ domains: some Sequence<String>) {
        for domain in domains { insert(domain) }
    }

    /// The set of these domains.
    public init(arrayLiteral elements: String...) {
        self.init(elements)
    }

    /// Adds a domain; whether the text was one.
    @discardableResult
    public mutating func insert(_ domain: String) -> Bool {
        guard let name = DomainName.canonical(domain) else { return false }
        domains.insert(name)
        lengths.insert(name)
        return true
    }

    /// Adds all domains of another set.
    public mutating func formUnion(_ other: DomainSet) {
        domains.formUnion(other.domains)
        lengths.formUnion(other.lengths)
    }

    /// Whether the set is empty.
    public var isEmpty: Bool { domains.isEmpty }

    /// Whether the name is one of the domains or below one, by whole labels.
    public func contains(_ host: Host) -> Bool {
        guard !domains.isEmpty else { return false }
        return DomainName.first(of: host, lengths) { domains.contains($0) ? true : nil } ?? false
    }
}
