// SPDX-License-Identifier: Apache-2.0

import HTTPDNS

/// The zones of a server. If several zones contain a name, the closest one answers.
struct ZoneSet: Sendable {
    private let zones: [DNSName: AuthoritativeZone]
    /// The number of names that have records.
    let count: Int

    init(_ zones: [AuthoritativeZone] = []) {
        self.zones = Dictionary(zones.map { ($0.apex, $0) }) { first, _ in first }
        count = self.zones.values.reduce(0) { $0 + $1.count }
    }

    private func zone(of name: DNSName) -> AuthoritativeZone? {
        guard !zones.isEmpty else { return nil }
        for name in sequence(first: name, next: { $0.parent }) {
            if let zone = zones[name] { return zone }
        }
        return nil
    }

    /// The result of a lookup in the zones.
    struct Finding: Sendable {
        var answer = ServerAnswer()
        /// The name outside the zones to which the aliases lead. Nil if the answer is complete.
        var outside: DNSName?
    }

    /// Looks up a name. Nil if no zone contains it.
    func lookUp(_ name: DNSName, _ type: DNSType) -> Finding? {
        var finding = Finding()
        finding.answer.isAuthoritative = true
        finding.answer.answeredType = type
        var name = name
        for step in 0...DNSMessage.maxAliases {
            guard let zone = zone(of: name) else {
                finding.outside = name
                return step == 0 ? nil : finding
            }
            switch zone.lookUp(name, type) {
            case .records(let records):
                finding.answer.answers += records
                return finding
            case .alias(let record, let target):
                finding.answer.answers.append(record)
                name = target
            case .noRecord:
                finding.answer.authorities = [zone.authority]
                return finding
            case .noName:
                // Applies to the target of an alias too (RFC 6604 §3).
                finding.answer.authorities = [zone.authority]
                finding.answer.code = .noSuchName
                return finding
            case .delegated:
                finding.outside = name
                return step == 0 ? nil : finding
            }
        }
        finding.answer = ServerAnswer()
        finding.answer.code = .serverFailure
        return finding
    }

    /// The name servers to which a zone delegates a name; nil if the name is not delegated.
    func referral(for name: DNSName) -> ServerAnswer? {
        guard let referral = zone(of: name)?.referral(for: name) else { return nil }
        var answer = ServerAnswer()
        answer.authorities = referral.servers
        answer.additionals = referral.addresses
        return answer
    }
}
