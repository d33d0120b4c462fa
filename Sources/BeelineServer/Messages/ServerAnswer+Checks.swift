// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

extension ServerAnswer {
    /// Drops the records that do not belong to a name or its aliases. An upstream must not add records of other names.
    ///
    /// - Returns: False if the aliases form a loop or there are too many.
    mutating func keepRecords(of name: DNSName) -> Bool {
        guard let names = aliases(of: name) else { return false }
        answers.removeAll { record in
            if names.contains(record.name) { return false }
            // A DNAME record and its signature are above the name (RFC 6672).
            guard record.type == .subtreeAlias || record.type == .signature else { return true }
            return !names.contains { $0.isAtOrBelow(record.name) }
        }
        // The SOA of a negative answer is that of the zone of the name (RFC 2308 §2).
        authorities.removeAll { record in
            record.type == .soa && !names.contains { $0.isAtOrBelow(record.name) }
        }
        return true
    }

    /// A name and the names that its aliases lead to; nil if they form a loop or there are too many.
    private func aliases(of name: DNSName) -> Set<DNSName>? {
        var targets: [DNSName: DNSName] = [:]
        for record in answers {
            if case .alias(let target) = record.data { targets[record.name] = target }
        }
        var (name, names) = (name, [name] as Set)
        while let target = targets[name] {
            guard names.count <= DNSMessage.maxAliases, names.insert(target).inserted else { return nil }
            name = target
        }
        return names
    }
}

extension AnswerCheck {
    /// Whether the addresses in a record may be passed on. A, AAAA, and the hints of SVCB and HTTPS have addresses.
    func accepts(_ record: DNSRecord) -> Bool {
        switch record.data {
        case .address(let address):
            var answer = Answer()
            answer[address.family] = .addresses([address], ttl: nil)
            return (try? checked(answer)) != nil
        case .other(let type, let octets) where type == .svcb || type == .https:
            guard let service = HTTPSRecord(octets: octets) else { return false }
            return (try? check([service])) != nil
        default: return true
        }
    }
}
