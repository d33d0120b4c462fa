// SPDX-License-Identifier: Apache-2.0

public import Names

/// A set of domains and their subdomains: `example.com` contains `www.example.com` and not `notexample.com`.
public struct DomainSet: Hashable, Sendable, ExpressibleByArrayLiteral {
    private var domains: DomainMap<Bool> = [:]

    /// The set of these domains, each with its subdomains. Ignores a leading dot or `*.`, a final dot, and texts that
    /// are not domains.
    public init(_ domains: some Sequence<String>) {
        for domain in domains { insert(domain) }
    }

    /// The set of these domains.
    public init(arrayLiteral elements: String...) {
        self.init(elements)
    }

    /// Adds a domain and returns whether the text was a domain.
    @discardableResult
    public mutating func insert(_ domain: String) -> Bool {
        domains.set(domain, true)
    }

    /// Adds all domains of another set.
    package mutating func formUnion(_ other: DomainSet) {
        domains.merge(other.domains)
    }

    /// Whether the set is empty.
    package var isEmpty: Bool { domains.isEmpty }

    /// Whether the name is one of the domains or a subdomain of one, compared by whole labels.
    public func contains(_ host: Host) -> Bool {
        domains[host] ?? false
    }
}
