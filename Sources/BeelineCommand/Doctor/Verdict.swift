// SPDX-License-Identifier: Apache-2.0

import Beeline

/// The conclusion of a diagnosis: a headline, the findings and the exit status.
struct Verdict: Hashable, Sendable {
    enum Level: String, Hashable, Sendable {
        /// No problem was found.
        case well
        /// The host works, but a problem was found.
        case attention
        /// A request would fail.
        case broken
    }

    var level = Level.well
    var headline = ""
    /// One sentence each, the most important first.
    var findings: [String] = []
    var status = CommandStatus.ok

    /// The remaining days below which a certificate is reported.
    private static let renewalDays: Int64 = 14

    init() {}

    /// Judges a diagnosis. A result that took longer than `slowness` is slow.
    init(_ diagnosis: Diagnosis, slowness: Duration) {
        let host = diagnosis.origin.host
        let answering = diagnosis.answers.filter { !$0.addresses.isEmpty }
        let serving = diagnosis.places.filter(\.serves)
        findings =
            Self.rejectedCertificates(diagnosis, answering) + Self.brokenECH(diagnosis) + Self.families(diagnosis)
            + Self.dead(diagnosis)
            + Self.disagreement(answering, diagnosis) + Self.silent(diagnosis) + Self.failing(serving)
            + Self.certificates(serving) + Self.slow(serving, slowness)
        // A request dials the endpoints of the HTTPS record and the first answer in query order. If the URL has an IP
        // address, it dials that.
        let isAddress = host.address != nil
        let own = answering.first?.addresses ?? []
        let first = diagnosis.places.filter { isAddress || $0.isOfRecord || own.contains($0.endpoint.address) }
        // An HTTPS record can have the only addresses, as hints.
        if answering.isEmpty, !isAddress, !diagnosis.places.contains(where: \.isOfRecord) {
            level = .broken
            status = .hostUnresolved
            headline =
                diagnosis.answers.isEmpty
                ? "No resolver was asked for \(host)." : "No resolver knows an address of \(host)."
        } else if serving.isEmpty {
            level = .broken
            status = Self.status(diagnosis.places)
            headline =
                isAddress
                ? "\(host) gives no usable response."
                : "None of the addresses of \(host) works."
        } else if !first.contains(where: \.serves), let asked = answering.first {
            level = .broken
            status = Self.status(first)
            let better = answering.first { diagnosis.places(of: $0).contains(where: \.serves) }
            headline = "\(host) works, but not with the answer that requests use, that of \(asked.upstream)."
            if let better { findings.insert("Put \(better.upstream) first (--dns): its addresses work.", at: 0) }
        } else if findings.isEmpty {
            let who = [1: "its address works", 2: "both addresses work"]
            headline = "\(host) is well: \(who[serving.count] ?? "all \(serving.count) addresses work")."
        } else {
            level = .attention
            headline = "\(host) works, but there are problems."
        }
    }

    /// The exit code if no address serves the host. The attempt that got farthest determines it.
    private static func status(_ places: [Diagnosis.Place]) -> CommandStatus {
        let failures = places.compactMap { place -> (code: DirectHTTPError.Code, isClosedInOrder: Bool)? in
            if case .failed(let code, _) = place.outcome { (code, place.isClosedInOrder) } else { nil }
        }
        let order: [DirectHTTPError.Code] = [.certificateRejected, .tlsFailed, .connectTimeout, .connectFailed]
        let others = failures.first { !order.contains($0.code) }
        let known = order.compactMap { code in failures.first { $0.code == code } }
        guard let failure = others ?? known.first else { return .connectFailed }
        return CommandStatus(failure.code, isClosedInOrder: failure.isClosedInOrder)
    }

    // MARK: Findings

    private static func brokenECH(_ diagnosis: Diagnosis) -> [String] {
        let places = diagnosis.places.compactMap { place in
            if case .broken? = place.ech { "\(place.endpoint)" } else { nil }
        }
        guard !places.isEmpty else { return [] }
        return [
            "The handshake with \(list(places)) fails with Encrypted Client Hello and succeeds without it: a device on the path "
                + "or the server breaks it. To reveal the name instead, use beeline fetch --ech false."
        ]
    }

    private static func rejectedCertificates(
        _ diagnosis: Diagnosis,
        _ answering: [Diagnosis.UpstreamAnswer]
    ) -> [String] {
        let host = diagnosis.origin.host
        return diagnosis.places.filter(\.hasRejectedCertificate).map { place in
            guard let certificate = place.certificate else {
                return "\(place.endpoint), named by \(list(place.namedBy)), shows a certificate that was refused."
            }
            let start =
                "\(place.endpoint), named by \(list(place.namedBy)), shows a certificate that \(certificate.fault)"
            if certificate.isForHost { return "\(start); it is refused. \(certificate.remedy)" }
            if host.address != nil { return "\(start), not for this address: use the site's name in the URL." }
            // If all upstreams agree, a wrong answer is unlikely.
            guard answering.count > 1, place.namedBy.count == answering.count else {
                return "\(start): it is not \(host), and the resolver that returned it is wrong, poisoned or lying."
            }
            return "\(start): its server has no certificate for \(host), or all resolvers are wrong."
        }
    }

    /// Reports an address family without any connection if the other family works.
    private static func families(_ diagnosis: Diagnosis) -> [String] {
        [IPAddress.Family.v6, .v4].compactMap { family in
            let (mine, others) = (
                diagnosis.places.filter { $0.endpoint.address.family == family },
                diagnosis.places.filter { $0.endpoint.address.family != family }
            )
            guard !mine.isEmpty, mine.allSatisfy({ $0.connect == nil }), others.contains(where: \.serves) else {
                return nil
            }
            let (dead, alive) = family == .v6 ? ("IPv6", "IPv4") : ("IPv4", "IPv6")
            return
                "No connection succeeds over \(dead), because of this network or the host: requests use \(alive) after a delay. "
                + "\(family == .v6 ? "-4" : "-6") skips the \(dead) addresses."
        }
    }

    /// Reports responses with a server error (5xx).
    private static func failing(_ places: [Diagnosis.Place]) -> [String] {
        places.compactMap { place in
            guard case .serves(let status, _) = place.outcome, status >= 500 else { return nil }
            return "\(place.endpoint) answers with status \(status): the server, or one behind it, is out of order."
        }
    }

    private static func dead(_ diagnosis: Diagnosis) -> [String] {
        diagnosis.places.compactMap { place in
            guard case .failed(let code, let reason) = place.outcome, code != .certificateRejected else { return nil }
            let start = "\(place.endpoint), named by \(list(place.namedBy)),"
            // The reason is a complete sentence in this case.
            if code == .tlsFailed { return "\(start) accepts connections, but \(reason)." }
            if code == .echFailed { return "\(start) cannot be used: \(reason)." }
            let what =
                switch code {
                case .connectFailed: "does not accept connections"
                case .connectTimeout: place.connect == nil ? "is silent" : "accepts connections and then is silent"
                case .idleTimeout, .deadlineExceeded: "accepts the request and sends no response"
                default: "sends no response"
                }
            let address = place.endpoint.address
            let isInside = diagnosis.origin.host.address == nil && (address.isPrivate || address.isShared)
            let hint = isInside ? " It is an address of a private network and works only inside it." : ""
            return "\(start) \(what): \(reason).\(hint)"
        }
    }

    private static func disagreement(_ answers: [Diagnosis.UpstreamAnswer], _ diagnosis: Diagnosis) -> [String] {
        guard let first = answers.first else { return [] }
        let others = answers.dropFirst().filter { Set($0.addresses).isDisjoint(with: first.addresses) }
        guard !others.isEmpty else { return [] }
        let all = [first] + others
        let good = all.allSatisfy { diagnosis.places(of: $0).contains(where: \.serves) }
        // CDNs return addresses near each resolver, so different answers alone are not a problem.
        return good && diagnosis.origin.scheme.isSecure
            ? []
            : [
                "The answers disagree: \(list(others.map(\.upstream))) \(others.count == 1 ? "returns" : "return") no address "
                    + "that \(first.upstream) returns."
            ]
    }

    private static func silent(_ diagnosis: Diagnosis) -> [String] {
        diagnosis.answers.compactMap { answer in
            answer.failure.map { "\(answer.upstream) returns no address: \($0.message)." }
        }
    }

    private static func certificates(_ places: [Diagnosis.Place]) -> [String] {
        places.compactMap { place in
            guard let certificate = place.certificate, certificate.daysLeft < renewalDays else { return nil }
            let days = certificate.daysLeft
            let time = days < 1 ? "within a day" : days == 1 ? "in a day" : "in \(days) days"
            return "The certificate of \(place.endpoint) expires \(time): its owner must renew it."
        }
    }

    private static func slow(_ places: [Diagnosis.Place], _ slowness: Duration) -> [String] {
        places.filter { $0.total > slowness }.map {
            "\($0.endpoint) is slow: its response began after \($0.total.millisecondText)."
        }
    }

    static func list(_ items: [String]) -> String {
        guard items.count > 1, let last = items.last else { return items.first ?? "no resolver" }
        return items.dropLast().joined(separator: ", ") + " and " + last
    }
}
