// SPDX-License-Identifier: Apache-2.0

public import Names

/// The Public Suffix List: the names under which the public can register (`com`, `co.uk`, `github.io`). It limits a cookie's
/// Domain attribute (RFC 6265bis §5.7 step 9) and defines a site (§5.2).
///
/// The list, including its private section, is compiled into the program and decoded at the first use.
/// `Scripts/update-public-suffix-list` updates it.
///
/// ```swift
/// PublicSuffixList.registrableDomain(of: try Host("www.example.co.uk"))  // "example.co.uk"
/// PublicSuffixList.registrableDomain(of: try Host("co.uk"))              // nil
/// ```
public enum PublicSuffixList {
    /// The public suffix of a domain and the label before it. A final dot is kept.
    ///
    /// - Returns: Nil for an address, a public suffix, and a name with an empty label.
    public static func registrableDomain(of host: Host) -> String? {
        guard host.address == nil else { return nil }
        return registrableDomain(of: host.text)
    }

    /// Whether a host is a public suffix. False for an address. True for a single label without a rule.
    public static func isPublicSuffix(_ host: Host) -> Bool {
        guard host.address == nil else { return false }
        return isPublicSuffix(Array(host.text.utf8))
    }

    static func registrableDomain(of domain: String) -> String? {
        let octets = Array(domain.utf8)
        // A suffix that starts at offset 0 or 1 leaves no room for a label and a dot.
        guard let suffix = suffixStart(of: octets), suffix > 1, !hasEmptyLabel(octets) else { return nil }
        let start = labelStart(in: octets, before: suffix - 1)
        return start < suffix - 1 ? String(decoding: octets[start...], as: UTF8.self) : nil
    }

    /// Whether a domain, in lower case, is a public suffix.
    static func isPublicSuffix(_ domain: [UInt8]) -> Bool {
        suffixStart(of: domain) == 0
    }

    /// The offset of the public suffix in `domain` (publicsuffix.org/list, "Formal Algorithm"). Nil for a domain without labels.
    private static func suffixStart(of domain: [UInt8]) -> Int? {
        var end = domain.last == .dot ? domain.count - 1 : domain.count
        var start = labelStart(in: domain, before: end)
        guard start < end else { return nil }
        // "If no rules match, the prevailing rule is *": the last label.
        var suffix = start
        let (nodes, labels) = (nodes, labels)
        var node = 0
        while true {
            let child = child(of: node, named: domain[start..<end], nodes, labels)
            if let child, nodes[child].flags & Node.exception != 0 { return end + 1 }
            if nodes[node].flags & Node.wildcard != 0 { suffix = start }
            guard let child else { return suffix }
            if nodes[child].flags & Node.rule != 0 { suffix = start }
            guard start > 0 else { return suffix }
            node = child
            end = start - 1
            start = labelStart(in: domain, before: end)
        }
    }

    private static func labelStart(in domain: [UInt8], before end: Int) -> Int {
        var start = end
        while start > 0, domain[start - 1] != .dot { start -= 1 }
        return start
    }

    private static func hasEmptyLabel(_ domain: [UInt8]) -> Bool {
        domain.first == .dot || zip(domain, domain.dropFirst()).contains { $0 == .dot && $1 == .dot }
    }

    /// The list as a trie, decoded from the compiled text at the first use.
    private static let nodes: [Node] = {
        let digits = Array(nodeText.utf8)
        return stride(from: 0, to: digits.count, by: Node.width).map { Node(digits[$0..<($0 + Node.width)]) }
    }()
    private static let labels = Array(labelText.utf8)

    /// A node of the trie. Scripts/update-public-suffix-list documents the format.
    private struct Node {
        static let rule: UInt8 = 1
        static let wildcard: UInt8 = 2
        static let exception: UInt8 = 4
        static let width = 8

        let labelStart: Int32
        let firstChild: Int32
        let labelCount: UInt8
        let flags: UInt8

        /// Decodes characters of six bits each.
        init(_ digits: ArraySlice<UInt8>) {
            let number = { (offset: Int, count: Int) in
                digits.dropFirst(offset).prefix(count).reduce(Int32(0)) { $0 << 6 | Int32($1 &- 48) }
            }
            labelStart = number(0, 3)
            labelCount = UInt8(truncatingIfNeeded: number(3, 1))
            firstChild = number(4, 3)
            flags = UInt8(truncatingIfNeeded: number(7, 1))
        }

        /// Negative if the node's label sorts before `label`, positive if it sorts after.
        func order(to label: ArraySlice<UInt8>, labels: [UInt8]) -> Int {
            var own = Int(labelStart)
            let end = own + Int(labelCount)
            for octet in label {
                guard own < end else { return -1 }
                if labels[own] != octet { return Int(labels[own]) - Int(octet) }
                own += 1
            }
            return end - own
        }
    }

    /// The index of a node's child with this label. Nil if it has none.
    private static func child(of node: Int, named label: ArraySlice<UInt8>, _ nodes: [Node], _ labels: [UInt8]) -> Int?
    {
        var range = Int(nodes[node].firstChild)..<Int(nodes[node + 1].firstChild)
        while !range.isEmpty {
            let middle = (range.lowerBound + range.upperBound) / 2
            switch nodes[middle].order(to: label, labels: labels) {
            case 0: return middle
            case ..<0: range = (middle + 1)..<range.upperBound
            default: range = range.lowerBound..<middle
            }
        }
        return nil
    }
}
