// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// Blocked names, and names with other addresses, from lists in the formats of hosts(5) and dnsmasq.
///
/// | line | meaning |
/// | --- | --- |
/// | `0.0.0.0 ads.example` | the name is blocked; so is `:: ads.example` |
/// | `192.0.2.7 printer.lan` | the name has this address and no others |
/// | `address=/ads.example/` | the domain and its subdomains are blocked |
/// | `address=/ads.example/0.0.0.0`, `address=/ads.example/#` | the same |
/// | `local=/corp.lan/`, `server=/corp.lan/` | the domain has only the names of lists |
/// | `address=/lab.example/192.0.2.8` | the domain and its subdomains have this address |
struct NameRules: Sendable {
    /// The answer for blocked names. Default: ``BlockedAnswer/noSuchName``.
    var blockedAnswer = DNSServerConfiguration.BlockedAnswer.noSuchName
    private var names = HostsTable()
    /// The addresses of domains. Empty: the domain has only the names of lists.
    private var domains: DomainMap<[IPAddress]> = [:]
    /// The names above those with addresses, at most 1,000,000. Their denial would deny the names below them (RFC 8020).
    private var parents: Set<String> = []

    /// The TTL of answers, in seconds. It is short so that a name that was blocked by mistake works again soon.
    private static let ttl: UInt32 = 10

    /// Rules without names.
    init() {}

    /// Adds the lines of a list. Ignores comments, other lines of dnsmasq, and lines that cannot be read. A table has
    /// at most 1,000,000 names.
    ///
    /// - Returns: Whether the list has a line that is a rule.
    @discardableResult
    mutating func add(parsing text: String) -> Bool {
        let table = HostsTable(parsing: text)
        var hasRule = table.count > 0
        for (name, addresses) in table.entries where !addresses.allSatisfy(\.isUnspecified) { addParents(of: name) }
        names.merge(table)
        for line in text.octetLines {
            // A comment may follow after a blank.
            let rule = line.drop { $0 == 0x20 || $0 == 0x09 }.prefix { $0 != 0x20 && $0 != 0x09 }
            let prefixes = ["address=/", "local=/", "server=/"]
            guard let prefix = prefixes.first(where: { rule.starts(with: $0.utf8) }) else { continue }
            let parts = String(decoding: rule.dropFirst(prefix.utf8.count), as: UTF8.self)
                .split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count > 1, let last = parts.last else { continue }
            // `server=/domain/address` is about upstreams.
            guard last.isEmpty || prefix == prefixes[0] else { continue }
            if prefix != prefixes[0] {
                hasRule = true
                for domain in parts.dropLast() where !domain.isEmpty { add(nil, toDomain: String(domain)) }
                continue
            }
            let address = last.isEmpty || last == "#" ? IPAddress(v4: 0) : IPAddress(String(last))
            guard let address else { continue }
            hasRule = true
            for domain in parts.dropLast() where !domain.isEmpty { add(address, toDomain: String(domain)) }
        }
        return hasRule
    }

    /// Whether a line is of a list for other programs: `||ads.example^`, `*.ads.example` or `ads.example`.
    static func isForeign(_ line: some Collection<UInt8>) -> Bool {
        let rule = line.prefix { $0 != UInt8(ascii: "#") }
        let words = String(decoding: rule, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard let word = words.first, words.count == 1 else { return false }
        if word.hasPrefix("||") { return true }
        let domain = word.hasPrefix("*.") ? word.dropFirst(2) : word
        return domain.contains(".") && IPAddress(String(domain)) == nil
            && domain.allSatisfy { $0.isLetter || $0.isNumber || "-_.".contains($0) }
    }

    private mutating func add(_ address: IPAddress?, toDomain domain: String) {
        guard let host = try? Host(domain) else { return }
        let known = domains.exact(host) ?? []
        if known.count < HostsTable.maxAddresses { domains.set(domain, known + [address].compactMap(\.self)) }
        if let address, !address.isUnspecified { addParents(of: host.withoutFinalDot) }
    }

    private mutating func addParents(of name: String) {
        var rest = name[...]
        while parents.count < HostsTable.maxNames, let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[rest.utf8.index(after: dot)...]
            guard parents.insert(String(rest)).inserted else { return }
        }
    }

    /// The addresses of the longest domain that contains a host; nil if the domain is shorter than `minLength`.
    private func domain(of host: Host, minLength: Int) -> [IPAddress]? {
        domains.closest(to: host).flatMap { $0.length < minLength ? nil : $0.value }
    }

    var count: Int { names.count + domains.count }
    var nameCount: Int { names.count }

    /// The answer for a name whose host is known; nil if no rule applies.
    ///
    /// - Parameter forwarded: The length of the longest domain with upstreams of its own that contains the name. Rules
    ///   of shorter domains do not apply, as in dnsmasq.
    func answer(_ name: DNSName, host key: NameHost, _ type: DNSType, forwarded: Int = 0) -> ServerAnswer? {
        guard count > 0,
            let addresses = (key.isName ? names[key.host] : nil) ?? domain(of: key.host, minLength: forwarded)
        else { return nil }
        let isBlocked = !addresses.isEmpty && addresses.allSatisfy(\.isUnspecified)
        let isAbsent = addresses.isEmpty || isBlocked && !blockedAnswer.hasAddress
        let isParent = key.isName && parents.contains(key.host.withoutFinalDot)
        // For clients, the list is the zone of its names: it confirms that there is no record.
        var answer = ServerAnswer(
            absenceOf: name,
            isAbsent && !isParent ? .noSuchName : .noError,
            ttl: Self.ttl,
            source: UpstreamKind.fixed.description,
            errors: isBlocked ? [.blocked] : []
        )
        if isAbsent { return answer }
        // A name with a line that blocks it and an address is not blocked: programs would connect to 0.0.0.0.
        let usable = addresses.filter { !$0.isUnspecified }
        let found: [IPAddress] =
            switch type {
            case .a: isBlocked ? [IPAddress(v4: 0)] : usable.filter { $0.family == .v4 }
            case .aaaa: isBlocked ? [IPAddress(v6: 0, 0)] : usable.filter { $0.family == .v6 }
            default: []
            }
        answer.answers = found.map { DNSRecord(name, ttl: Self.ttl, .address($0)) }
        if !found.isEmpty { answer.authorities = [] }
        return answer
    }
}
