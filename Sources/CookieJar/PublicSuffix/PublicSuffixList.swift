// SPDX-License-Identifier: Apache-2.0

public import Names

/// The Public Suffix List: under which names the public can register (`com`, `co.uk`, `github.io`), and so how far a
/// cookie's Domain attribute may reach (RFC 6265bis §5.7 step 9) and what is one site (§5.2).
///
/// The list is compiled into the program, its private section included, and costs nothing at start. `version` says of
/// when it is; `Scripts/update-public-suffix-list` refreshes it.
///
/// ```swift
/// PublicSuffixList.registrableDomain(of: try Host("www.example.co.uk"))  // "example.co.uk"
/// PublicSuffixList.registrableDomain(of: try Host("co.uk"))              // nil
/// ```
public enum PublicSuffixList {
    /// The public suffix of a domain and the label before it: what somebody registered. One final dot is kept.
    ///
    /// - Returns: nil for an address, for a public suffix, and for a name with an empty label.
    public static func registrableDomain(of host: Host) -> String? {
        guard host.address == nil else { return nil }
        return registrableDomain(of: host.text)
    }

    /// Whether a host is a public suffix. An address is not; a single label that no rule names is.
    public static func isPublicSuffix(_ host: Host) -> Bool {
        guard host.address == nil else { return false }
        return host.text.withOctets { isPublicSuffix($0) }
    }

    static func registrableDomain(of domain: String) -> String? {
        domain.withOctets { domain in
            registrableDomainStart(of: domain).map { String(decoding: domain[$0...], as: UTF8.self) }
        }
    }

    static func isPublicSuffix(_ domain: Octets) -> Bool {
        suffixStart(of: domain) == 0
    }

    /// Where the registrable domain begins in `domain`; nil where there is none.
    static func registrableDomainStart(of domain: Octets) -> Int? {
        guard let suffix = suffixStart(of: domain), suffix > 1 else { return nil }
        let start = labelStart(in: domain, before: suffix - 1)
        return start < suffix - 1 && !hasEmptyLabel(domain) ? start : nil
    }

    /// Where the public suffix begins in `domain` (publicsuffix.org/list, "Formal Algorithm"); nil for no labels.
    static func suffixStart(of domain: Octets) -> Int? {
        var end = domain.count
        if end > 0, domain[end - 1] == .dot { end -= 1 }
        var start = labelStart(in: domain, before: end)
        guard start < end else { return nil }
        // "If no rules match, the prevailing rule is *": the last label.
        var suffix = start
        var node = Node.root
        while true {
            let child = node.child(named: domain[start..<end])
            if let child, child.flags & Node.exception != 0 { return end + 1 }
            if node.flags & Node.wildcard != 0 { suffix = start }
            guard let child else { return suffix }
            if child.flags & Node.rule != 0 { suffix = start }
            guard start > 0 else { return suffix }
            node = child
            end = start - 1
            start = labelStart(in: domain, before: end)
        }
    }

    private static func labelStart(in domain: Octets, before end: Int) -> Int {
        var start = end
        while start > 0, domain[start - 1] != .dot { start -= 1 }
        return start
    }

    private static func hasEmptyLabel(_ domain: Octets) -> Bool {
        domain.first == .dot || domain.indices.dropFirst().contains { domain[$0] == .dot && domain[$0 - 1] == .dot }
    }

    /// A node of the trie that Scripts/update-public-suffix-list describes.
    private struct Node {
        static let rule: UInt8 = 1
        static let wildcard: UInt8 = 2
        static let exception: UInt8 = 4
        static let width = 8
        static let root = Node(0)

        let index: Int

        init(_ index: Int) { self.index = index }

        var flags: UInt8 { UInt8(truncatingIfNeeded: digits(7, 1)) }
        var children: Range<Int> { digits(4, 3)..<digits(4 + Self.width, 3) }

        func child(named label: Slice<Octets>) -> Node? {
            var range = children
            while !range.isEmpty {
                let middle = (range.lowerBound + range.upperBound) / 2
                switch Node(middle).order(to: label) {
                case 0: return Node(middle)
                case ..<0: range = (middle + 1)..<range.upperBound
                default: range = range.lowerBound..<middle
                }
            }
            return nil
        }

        /// Below zero where the node's label sorts before `label`, above zero where after.
        private func order(to label: Slice<Octets>) -> Int {
            let own = PublicSuffixList.labels.utf8Start + digits(0, 3)
            let count = digits(3, 1)
            for offset in 0..<min(count, label.count) {
                let other = label.base[label.startIndex + offset]
                if own[offset] != other { return Int(own[offset]) - Int(other) }
            }
            return count - label.count
        }

        /// The number in `count` characters of six bits, from `offset` on.
        private func digits(_ offset: Int, _ count: Int) -> Int {
            let start = PublicSuffixList.nodes.utf8Start + index * Self.width + offset
            return (0..<count).reduce(0) { $0 << 6 | (Int(start[$1]) - 48) }
        }
    }
}
