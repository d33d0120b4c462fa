// SPDX-License-Identifier: Apache-2.0

public import Names

/// A set of domains with everything below them: `example.com` holds `www.example.com` and not `notexample.com`.
public struct DomainSet: Hashable, Sendable, ExpressibleByArrayLiteral {
    private var domains: DomainMap<Bool> = [:]

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
        domains.set(domain, true)
    }

    /// Adds all domains of another set.
    public mutating func formUnion(_ other: DomainSet) {
        domains.merge(other.domains)
    }

    /// Whether the set is empty.
    public var isEmpty: Bool { domains.isEmpty }

    /// Whether the name is one of the domains or below one, by whole labels.
    public func contains(_ host: Host) -> Bool {
        domains[host] ?? false
    }
}
