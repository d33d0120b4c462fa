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
        let answering = diagnosis.opinions.filter { !$0.addresses.isEmpty }
        let serving = diagnosis.places.filter(\.serves)
        findings =
            Self.impostors(diagnosis, answering) + Self.families(diagnosis) + Self.dead(diagnosis)
            + Self.disagreement(answering, diagnosis) + Self.silent(diagnosis) + Self.failing(serving)
            + Self.certificates(serving) + Self.slow(serving, slowness)
        // A request dials the first answer in query order, or the URL's own IP address.
        let isAddress = host.address != nil
        let first = isAddress ? diagnosis.places : answering.first.map(diagnosis.places(of:)) ?? []
        if answering.isEmpty, !isAddress {
            level = .broken
            status = .hostUnresolved
            headline =
                diagnosis.opinions.isEmpty
                ? "No resolver was asked for \(host)." : "No resolver knows an address of \(host)."
        } else if serving.isEmpty {
            level = .broken
            status = Self.status(diagnosis.places)
            headline =
                isAddress
                ? "\(host) gives no response that can be used."
                : "\(host) has addresses, and none of them serves it."
        } else if !first.contains(where: \.serves) {
            level = .broken
            status = Self.status(first)
            let better = answering.first { diagnosis.places(of: $0).contains(where: \.serves) }
            headline = "\(host) works, but not by the answer that is taken, which is that of \(answering[0].upstream)."
            if let better { findings.insert("Ask \(better.upstream) first: its addresses serve.", at: 0) }
        } else if findings.isEmpty {
            let who = [1: "its address serves", 2: "both addresses serve"]
            headline = "\(host) is well: \(who[serving.count] ?? "all \(serving.count) addresses serve") it."
        } else {
            level = .attention
            headline = "\(host) can be reached, and something is wrong."
        }
    }

    /// The exit code if no address serves the host: that of the attempt that got farthest.
    private static func status(_ places: [Diagnosis.Place]) -> CommandStatus {
        let codes = places.compactMap { place -> DirectHTTPError.Code? in
            if case .failed(let code, _) = place.outcome { code } else { nil }
        }
        let order: [DirectHTTPError.Code] = [.certificateRejected, .tlsFailed, .connectTimeout, .connectFailed]
        let others = codes.first { !order.contains($0) }
        guard let code = others ?? order.first(where: codes.contains) else { return .connectFailed }
        return CommandStatus(BeelineError.Code(code), isClosedInOrder: true)
    }

    // MARK: Findings

    private static func impostors(_ diagnosis: Diagnosis, _ answering: [Diagnosis.Opinion]) -> [String] {
        let host = diagnosis.origin.host
        return diagnosis.places.filter(\.isImpostor).map { place in
            guard let certificate = place.certificate else {
                return "\(place.endpoint), named by \(list(place.saidBy)), shows a certificate that was refused."
            }
            let start =
                "\(place.endpoint), named by \(list(place.saidBy)), shows a certificate that \(certificate.fault)"
            if certificate.isForHost { return "\(start); it is refused. \(certificate.remedy)" }
            if host.address != nil { return "\(start), and not for the address: ask for the site by its name." }
            // If all upstreams agree, a wrong answer is unlikely.
            guard answering.count > 1, place.saidBy.count == answering.count else {
                return "\(start): it is not \(host), and the resolver that returned it is wrong, poisoned or lying."
            }
            return "\(start): its server has no certificate for \(host), or it is not \(host) and all are wrong."
        }
    }

    /// Reports an address family without any connection while the other family works.
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
                "No connection comes to be by \(dead), here or at the host: requests go by \(alive), a little later. "
                + "\(family == .v6 ? "-4" : "-6") leaves the others out."
        }
    }

    /// Reports responses with a server error (5xx).
    private static func failing(_ places: [Diagnosis.Place]) -> [String] {
        places.compactMap { place in
            guard case .serves(let status, _) = place.outcome, status >= 500 else { return nil }
            return "\(place.endpoint) answers with status \(status): the server, or what is behind it, is out of order."
        }
    }

    private static func dead(_ diagnosis: Diagnosis) -> [String] {
        diagnosis.places.compactMap { place in
            guard case .failed(let code, let reason) = place.outcome, code != .certificateRejected else { return nil }
            let start = "\(place.endpoint), named by \(list(place.saidBy)),"
            // The reason is a complete sentence in this case.
            if code == .tlsFailed { return "\(start) takes connections, but \(reason)." }
            let what =
                switch code {
                case .connectFailed: "does not take connections"
                case .connectTimeout: place.connect == nil ? "is silent" : "takes connections and then is silent"
                case .idleTimeout, .deadlineExceeded: "takes the request and says nothing"
                default: "gives no response"
                }
            let address = place.endpoint.address
            let isInside = diagnosis.origin.host.address == nil && (address.isPrivate || address.isShared)
            let hint = isInside ? " It is an address of a private network, which leads nowhere outside of that." : ""
            return "\(start) \(what): \(reason).\(hint)"
        }
    }

    private static func disagreement(_ opinions: [Diagnosis.Opinion], _ diagnosis: Diagnosis) -> [String] {
        guard let first = opinions.first else { return [] }
        let others = opinions.dropFirst().filter { Set($0.addresses).isDisjoint(with: first.addresses) }
        guard !others.isEmpty else { return [] }
        let all = [first] + others
        let good = all.allSatisfy { diagnosis.places(of: $0).contains(where: \.serves) }
        // CDNs return addresses near each resolver, so different answers alone are not a problem.
        return good && diagnosis.origin.scheme.isSecure
            ? []
            : [
                "The answers disagree: \(list(others.map(\.upstream))) \(others.count == 1 ? "names" : "name") no address "
                    + "that \(first.upstream) names."
            ]
    }

    private static func silent(_ diagnosis: Diagnosis) -> [String] {
        diagnosis.opinions.compactMap { opinion in
            opinion.failure.map { "\(opinion.upstream) gives no address: \($0.message)." }
        }
    }

    private static func certificates(_ places: [Diagnosis.Place]) -> [String] {
        places.compactMap { place in
            guard let certificate = place.certificate, certificate.daysLeft < renewalDays else { return nil }
            let days = certificate.daysLeft
            let time = days < 1 ? "within a day" : days == 1 ? "in a day" : "in \(days) days"
            return "The certificate of \(place.endpoint) ends \(time): its owner must renew it."
        }
    }

    private static func slow(_ places: [Diagnosis.Place], _ slowness: Duration) -> [String] {
        places.filter { $0.total > slowness }.map {
            "\($0.endpoint) is slow: its response began after \(Words.milliseconds($0.total))."
        }
    }

    static func list(_ items: [String]) -> String {
        guard items.count > 1, let last = items.last else { return items.first ?? "nobody" }
        return items.dropLast().joined(separator: ", ") + " and " + last
    }
}

/// Formats numbers for output.
enum Words {
    static func milliseconds(_ duration: Duration) -> String {
        let number = VerboseLog.milliseconds(duration)
        return number < 10 ? "\((number * 10).rounded() / 10) ms" : "\(Int64(clamping: number)) ms"
    }

    static func ttl(_ ttl: Duration?) -> String { ttl.map { "\($0.wholeSeconds) s" } ?? "-" }
}
