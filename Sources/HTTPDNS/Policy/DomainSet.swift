// SPDX-License-Identifier: Apache-2.0

public import Names

/// A set of domains with everything below them: `example.com` holds `www.example.com` and not `notexample.com`.
public struct DomainSet: Hashable, Sendable, ExpressibleByArrayLiteral {
    private var domains: Set<String> = []

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
        var text = domain[...]
        if text.hasPrefix("*.") { text = text.dropFirst(2) } else if text.hasPrefix(".") { text = text.dropFirst() }
        guard let host = try? Host(text) else { return false }
        let domain = host.withoutFinalDot
        guard !domain.isEmpty else { return false }
        domains.insert(domain)
        return true
    }

    /// Whether the set is empty.
    public var isEmpty: Bool { domains.isEmpty }

    /// Whether the name is one of the domains or below one, by whole labels.
    public func contains(_ host: Host) -> Bool {
        guard !domains.isEmpty else { return false }
        let name = host.withoutFinalDot
        if domains.contains(name) { return true }
        guard host.address == nil else { return false }
        var rest = name[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            if domains.contains(String(rest)) { return true }
        }
        return false
    }
}
