// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// Names that are never sent to upstreams (RFC 6761, RFC 6303, RFC 7686, RFC 9462).
enum SpecialName {
    private static let absent: DomainSet = ["invalid", "onion"]
    /// Where resolvers announce encrypted ones. This server announces none (RFC 9462 §4).
    private static let announcements: DomainSet = ["resolver.arpa"]
    /// The TTL of answers for special names, in seconds.
    private static let ttl: UInt32 = 3_600

    /// The answer for a special name; nil for other names, and for `localhost`, which the resolver answers.
    static func answer(_ name: DNSName, host: Host, type: DNSType) -> ServerAnswer? {
        if absent.contains(host) { return ServerAnswer(absenceOf: name, .noSuchName, ttl: ttl) }
        if announcements.contains(host) { return ServerAnswer(absenceOf: name, ttl: ttl) }
        guard let (network, isWhole) = ReverseName.network(name), let zone = localZone(of: network) else { return nil }
        if type == .pointer, isWhole, network.first.isLoopback, network.prefixLength >= 32 {
            var answer = ServerAnswer()
            let target = DNSName(wire: [9] + Array("localhost".utf8) + [0])
            answer.answers = [DNSRecord(name, ttl: ttl, .other(.pointer, target.wire))]
            return answer
        }
        // The denial of a name denies the names below it (RFC 8020): those of the zone (RFC 6303 §3), and localhost.
        let exists = isWhole && (network.first.isLoopback || network.prefixLength == zone)
        return ServerAnswer(absenceOf: name, exists ? .noError : .noSuchName, ttl: ttl)
    }

    /// The prefix length of the local zone that a network is in; nil if it is public. Zones begin at a label.
    private static func localZone(of network: IPNetwork) -> Int? {
        let local = (AnswerCheck.localNetworks + AnswerCheck.privateNetworks).first { local in
            local.contains(network.first) && network.prefixLength >= local.prefixLength
        }
        let unit = network.first.family == .v4 ? 8 : 4
        return local.map { ($0.prefixLength + unit - 1) / unit * unit }
    }

    /// Whether only zones have records of a type: NS, SOA, DS, NSEC, DNSKEY, NSEC3PARAM, CDS and CDNSKEY.
    static func isOfZones(_ type: DNSType) -> Bool { [2, 6, 43, 47, 48, 51, 59, 60].contains(type.rawValue) }

    /// Whether the type has addresses. The root has none, so such questions for it are answered here.
    static func isUnasked(_ type: DNSType) -> Bool { type == .a || type == .aaaa }
}

/// Names below `in-addr.arpa` and `ip6.arpa`.
enum ReverseName {
    /// The label `arpa` and the root.
    private static let ending: [UInt8] = [4, 0x61, 0x72, 0x70, 0x61, 0]

    /// The network that a reverse name stands for. Each label is one octet (IPv4) or four bits (IPv6).
    ///
    /// `isWhole` is false if other labels precede these, as in `b._dns-sd._udp.0.1.168.192.in-addr.arpa` and
    /// `0-63.1.168.192.in-addr.arpa` (RFC 2317). Nil for other names, and for names without a label of the network.
    static func network(_ name: DNSName) -> (network: IPNetwork, isWhole: Bool)? {
        // Nearly all names fail this check, so it makes no strings.
        guard name.wire.suffix(6).elementsEqual(ending, by: { $0 == $1 || $0 | 0x20 == $1 }) else { return nil }
        let labels = name.labels.map { String(decoding: $0, as: UTF8.self).lowercased() }
        guard labels.count > 2, labels.last == "arpa" else { return nil }
        let parts = labels.dropLast(2).reversed()
        let octets: [UInt8]
        let prefixLength: Int
        let used: Int
        switch labels[labels.count - 2] {
        case "in-addr":
            let found = numbers(parts.prefix(4)) { UInt8($0) }
            octets = found + [UInt8](repeating: 0, count: 4 - found.count)
            used = found.count
            prefixLength = used * 8
        case "ip6":
            let digits = numbers(parts.prefix(32)) { $0.utf8.count == 1 ? UInt8($0, radix: 16) : nil }
            let full = digits + [UInt8](repeating: 0, count: 32 - digits.count)
            octets = stride(from: 0, to: 32, by: 2).map { full[$0] << 4 | full[$0 + 1] }
            used = digits.count
            prefixLength = used * 4
        default: return nil
        }
        guard used > 0, let address = IPAddress(octets: octets),
            let network = IPNetwork(address, prefixLength: prefixLength)
        else { return nil }
        return (network, used == parts.count)
    }

    /// The numbers of the first labels, up to the first label that is not a number.
    private static func numbers(_ labels: some Sequence<String>, _ number: (String) -> UInt8?) -> [UInt8] {
        var numbers: [UInt8] = []
        for label in labels {
            guard let number = number(label) else { break }
            numbers.append(number)
        }
        return numbers
    }
}

extension ServerAnswer {
    /// The answer to ANY: one HINFO record without information (RFC 8482 §4.2).
    static func refusalOfAny(_ name: DNSName) -> ServerAnswer {
        var answer = ServerAnswer()
        let content = [7] + Array("RFC8482".utf8) + [0]
        answer.answers = [DNSRecord(name, ttl: 3_600, .other(DNSType(rawValue: 13), content))]
        answer.source = "-"
        return answer
    }
}
