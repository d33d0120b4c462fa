// SPDX-License-Identifier: Apache-2.0

import HTTPDNS

/// The zones of a server; of several that hold a name the closest counts.
struct ZoneSet: Sendable {
    private let zones: [DNSName: Zone]
    /// Names that have records.
    let count: Int

    init(_ zones: [Zone] = []) {
        self.zones = Dictionary(zones.map { ($0.apex, $0) }) { first, _ in first }
        count = self.zones.values.reduce(0) { $0 + $1.count }
    }

    /// The closest zone that holds a name.
    private func zone(of name: DNSName) -> Zone? {
        guard !zones.isEmpty else { return nil }
        var at: DNSName? = name
        while let here = at {
            if let zone = zones[here] { return zone }
            at = here.parent
        }
        return nil
    }

    /// Aliases that are followed for one question.
    private static let maxAliases = 16

    /// What the zones say.
    struct Finding: Sendable {
        var answer = ServerAnswer()
        /// The name that is not theirs, to which aliases lead; nil where all is said.
        var outside: DNSName?
    }

    /// Looks a name up; nil where it is in none of the zones.
    func lookUp(_ name: DNSName, _ type: DNSType) -> Finding? {
        var finding = Finding()
        finding.answer.isAuthoritative = true
        var name = name
        for step in 0...Self.maxAliases {
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
                // Of a name behind aliases too (RFC 6604 §3).
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
}
