// SPDX-License-Identifier: Apache-2.0

/// Domain matching (RFC 6265bis §5.1.3). Both domains must be canonical and in lower case.
enum DomainMatch {
    /// Whether `host` equals `domain` or is below it. An address matches only itself.
    static func matches(_ host: String, isAddress: Bool, domain: String) -> Bool {
        host == domain || (!isAddress && isBelow(host, domain))
    }

    static func isBelow(_ name: String, _ domain: String) -> Bool {
        let (name, domain) = (name.utf8, domain.utf8)
        guard name.count > domain.count, name.suffix(domain.count).elementsEqual(domain) else { return false }
        return name.dropLast(domain.count).last == .dot
    }

    /// Calls `body` with a domain and its parent domains, the longest first.
    static func forEachDomain(of name: String, _ body: (String) -> Void) {
        body(name)
        var rest = name[...]
        while let dot = rest.utf8.firstIndex(of: .dot) {
            rest = rest[rest.utf8.index(after: dot)...]
            body(String(rest))
        }
    }
}
