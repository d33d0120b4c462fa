// SPDX-License-Identifier: Apache-2.0

public import Names

/// The checks that an answer must pass before it is cached and used.
public struct AnswerCheck: Hashable, Sendable {
    /// Whether to accept addresses that are never valid for a public name, such as 127.0.0.1. Default: false.
    public var allowsLocalAnswers = false
    /// Whether to accept private addresses, such as 192.168.0.1. Default: true, for names that resolve to private
    /// addresses inside a company's network.
    public var allowsPrivateAnswers = true
    /// Further networks to refuse, such as the address of a search page that a network returns for nonexistent names.
    /// Default: none.
    public var refusedNetworks: [IPNetwork] = []
    /// The maximum number of addresses per family; further ones are dropped. Default: 64.
    public var maxAddresses = 64

    /// The defaults.
    public init() {}

    /// This-host, loopback, link-local, multicast and reserved blocks. Their addresses belong to no public host (RFC
    /// 6890).
    package static let localNetworks = IPNetwork.list(
        "0.0.0.0/8 127.0.0.0/8 169.254.0.0/16 224.0.0.0/3 ::/127 fe80::/10 ff00::/8"
    )

    /// Private and shared address blocks (RFC 1918, RFC 4193, RFC 6598).
    package static let privateNetworks = IPNetwork.list(
        "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 fc00::/7 fec0::/10"
    )

    /// The answer without addresses of the wrong family, without duplicates, and cut to ``maxAddresses``.
    ///
    /// - Parameters:
    ///   - answer: The upstream's answer.
    ///   - kind: The kind of upstream; addresses from ``UpstreamKind/fixed`` tables are not refused.
    /// - Throws: ``UpstreamError`` with code `bogusAnswer` if any address is refused. The rest of the answer is then
    ///   not trusted either.
    package func checked(_ answer: Answer, from kind: UpstreamKind = .service) throws(UpstreamError) -> Answer {
        var result = answer
        for family in IPAddress.Family.allCases {
            guard case .addresses(let addresses, let ttl) = answer[family] else { continue }
            var kept: [IPAddress] = []
            kept.reserveCapacity(min(addresses.count, maxAddresses))
            for address in addresses where address.family == family {
                if kind != .fixed { try check(address) }
                // For so few addresses, a linear search is faster than a set.
                if kept.count < maxAddresses, !kept.contains(address) { kept.append(address) }
            }
            if kept.isEmpty {
                result[family] = .absent(.noRecord, ttl: nil)
            } else if kept.count < addresses.count {
                result[family] = .addresses(kept, ttl: ttl)
            }
        }
        return result
    }

    /// Checks the hints of HTTPS records as A and AAAA records are checked.
    ///
    /// - Throws: ``UpstreamError`` with code `bogusAnswer` if an address is refused.
    package func check(_ records: [HTTPSRecord]) throws(UpstreamError) {
        for record in records {
            for hint in record.hints { try check(hint) }
        }
    }

    private func check(_ address: IPAddress) throws(UpstreamError) {
        // An IPv4-mapped address (RFC 4291 §2.5.5.2) is checked as the IPv4 address that a socket would use.
        let bare = address.unmapped
        // A NAT64 or 6to4 address leads to the IPv4 address in it, so that address is checked too.
        let targets = [bare] + [bare.translated].compactMap { $0 }
        func isIn(_ network: IPNetwork) -> Bool { targets.contains(where: network.contains) }
        let refusal: String
        if let network = refusedNetworks.first(where: isIn) {
            refusal = "is in \(network), which the configuration refuses"
        } else if !allowsLocalAnswers, Self.localNetworks.contains(where: isIn) {
            refusal = "is not a public address; allow local answers if this is intended"
        } else if !allowsPrivateAnswers, Self.privateNetworks.contains(where: isIn) {
            refusal = "is a private address; allow private answers if this is intended"
        } else {
            return
        }
        throw UpstreamError(.bogusAnswer, "\(address) \(refusal)")
    }
}
