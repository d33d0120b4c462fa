// SPDX-License-Identifier: Apache-2.0

import HTTPDNS

/// The content of a zone file, indexed for lookups.
struct AuthoritativeZone: Sendable {
    /// The result of a lookup of a name and a type.
    enum Outcome: Sendable {
        /// Records of the type, with the requested name as owner.
        case records([DNSRecord])
        case alias(DNSRecord, target: DNSName)
        /// The name exists but has no record of the type.
        case noRecord
        case noName
        /// The name is in a delegated part of the zone.
        case delegated
    }

    let apex: DNSName
    /// The SOA record for negative answers.
    let authority: DNSRecord
    private let nodes: [DNSName: [DNSRecord]]

    init(_ file: ZoneFile) {
        apex = file.apex
        var nodes: [DNSName: [DNSRecord]] = [:]
        var authority: DNSRecord?
        for record in file.records {
            nodes[record.name, default: []].append(record)
            if case .authority = record.data { authority = record }
            // The names between the apex and an existing name also exist, without records (RFC 4592 §2.2.2).
            var above = record.name.parent
            while let name = above, name.isAtOrBelow(file.apex), nodes[name] == nil {
                nodes[name] = []
                above = name.parent
            }
        }
        self.nodes = nodes
        self.authority = (authority ?? file.records[0]).ofNegativeAnswers
    }

    /// The number of names that have records.
    var count: Int { nodes.values.reduce(0) { $0 + ($1.isEmpty ? 0 : 1) } }

    /// Looks up a name at or below the apex.
    func lookUp(_ name: DNSName, _ type: DNSType) -> Outcome {
        if isDelegated(name) { return .delegated }
        guard let records = nodes[name] ?? wildcard(for: name) else { return .noName }
        let matches = records.filter { $0.type == type || type == .any }
        if !matches.isEmpty { return .records(matches.map { Self.owned($0, by: name) }) }
        for record in records {
            if case .alias(let target) = record.data { return .alias(Self.owned(record, by: name), target: target) }
        }
        return .noRecord
    }

    /// Whether NS records below the apex delegate the name (RFC 1034 §4.2.1).
    private func isDelegated(_ name: DNSName) -> Bool {
        for name in sequence(first: name, next: { $0.parent }) {
            if name == apex { break }
            if nodes[name]?.contains(where: { $0.type == .nameServer }) ?? false { return true }
        }
        return false
    }

    /// The name servers to which the zone delegates a name, and their addresses in the zone (RFC 1034 §4.3.2); nil if the
    /// name is not delegated.
    func referral(for name: DNSName) -> (servers: [DNSRecord], addresses: [DNSRecord])? {
        var servers: [DNSRecord] = []
        for name in sequence(first: name, next: { $0.parent }) {
            if name == apex { break }
            // The highest delegation counts. The zone has nothing below it.
            let found = nodes[name]?.filter { $0.type == .nameServer } ?? []
            if !found.isEmpty { servers = found }
        }
        guard !servers.isEmpty else { return nil }
        let addresses = servers.flatMap { server -> [DNSRecord] in
            guard case .other(_, let octets) = server.data else { return [] }
            return nodes[DNSName(wire: octets)]?.filter { $0.type == .a || $0.type == .aaaa } ?? []
        }
        return (servers, addresses)
    }

    /// The records of `*` below the closest existing ancestor (RFC 4592 §3.3.1).
    private func wildcard(for name: DNSName) -> [DNSRecord]? {
        let ancestor = sequence(first: name) { $0.parent }.dropFirst().first { nodes[$0] != nil }
        guard let ancestor else { return nil }
        let wire = [1, UInt8(ascii: "*")] + ancestor.wire
        return wire.count <= DNSName.maxOctets ? nodes[DNSName(wire: wire)] : nil
    }

    private static func owned(_ record: DNSRecord, by name: DNSName) -> DNSRecord {
        var record = record
        record.name = name
        return record
    }
}

extension DNSRecord {
    /// The SOA record with the TTL of negative answers, for clients that ignore its MINIMUM (RFC 2308 §3).
    fileprivate var ofNegativeAnswers: DNSRecord {
        guard case .authority(let soa) = data else { return self }
        var record = self
        record.ttl = min(ttl, soa.minimum)
        return record
    }
}

extension DNSName {
    /// The name without its first label. Nil for the root.
    var parent: DNSName? {
        guard let length = wire.first, length > 0 else { return nil }
        return DNSName(wire: Array(wire.dropFirst(1 + Int(length))))
    }
}
