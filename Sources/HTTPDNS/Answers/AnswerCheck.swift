// SPDX-License-Identifier: Apache-2.0

public import Names

/// What an answer must be like to be used: the last gate before the cache.
public struct AnswerCheck: Hashable, Sendable {
    /// Whether addresses that no public name has (``localNetworks``) are taken all the same. Default: false.
    public var allowLocalAnswers = false
    /// Whether private addresses (``privateNetworks``) are taken. Default: true, for names that mean another host
    /// inside a company's network than outside.
    public var allowPrivateAnswers = true
    /// Blocks that are refused besides those, such as the address of a search page that a network answers with for
    /// names that do not exist. Default: none.
    public var refusedNetworks: [IPNetwork] = []
    /// Addresses that are kept of one family; those behind them are dropped. Default: 64.
    public var maxAddresses = 64

    /// The defaults.
    public init() {}

    /// This machine, this link, nobody, everybody: blocks whose addresses lead to no public host (RFC 6890).
    public static let localNetworks: [IPNetwork] = networks(
        "0.0.0.0/8 127.0.0.0/8 169.254.0.0/16 224.0.0.0/3 ::/127 fe80::/10 ff00::/8"
    )

    /// Addresses that belong to whoever uses them (RFC 1918, RFC 4193, RFC 6598).
    public static let privateNetworks: [IPNetwork] = networks(
        "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 fc00::/7 fec0::/10"
    )

    /// The answer as it may be used: addresses of the wrong family and repeated ones left out, long lists cut.
    ///
    /// - Parameters:
    ///   - answer: What the upstream said.
    ///   - kind: ``UpstreamKind/fixed`` tables may name any address.
    /// - Throws: ``UpstreamError`` with code `bogusAnswer` when any address is one that is refused: who lies once is
    ///   not believed at all.
    public func checked(_ answer: Answer, from kind: UpstreamKind = .service) throws(UpstreamError) -> Answer {
        var result = answer
        for family in IPAddress.Family.allCases {
            guard case .addresses(let addresses, let ttl) = answer[family] else { continue }
            var kept: [IPAddress] = []
            kept.reserveCapacity(min(addresses.count, maxAddresses))
            for address in addresses where address.family == family {
                if kind != .fixed { try check(address) }
                // Few are kept: looking through them is faster than a set.
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

    private func check(_ address: IPAddress) throws(UpstreamError) {
        // An IPv4 address in IPv6 clothes (RFC 4291 §2.5.5.2) is judged as what a socket makes of it.
        let bare = address.unmapped
        let refusal: String
        if let network = refusedNetworks.first(where: { $0.contains(bare) }) {
            refusal = "is in \(network), which the configuration refuses"
        } else if !allowLocalAnswers, Self.localNetworks.contains(where: { $0.contains(bare) }) {
            refusal = "is no address of a public name; allow local answers if it is meant"
        } else if !allowPrivateAnswers, Self.privateNetworks.contains(where: { $0.contains(bare) }) {
            refusal = "is a private address; allow private answers if it is meant"
        } else {
            return
        }
        throw UpstreamError(.bogusAnswer, "\(address) \(refusal)")
    }

    private static func networks(_ list: String) -> [IPNetwork] {
        list.split(separator: " ").compactMap { IPNetwork(String($0)) }
    }
}
