// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// Decides where a question is answered: here, by the resolver, or by an upstream that carries messages.
extension Answerer {
    /// Where a question is answered.
    enum Route {
        case here(ServerAnswer)
        /// The resolver.
        case addresses(NameBackend, Host, IPAddress.Family)
        /// The user's tables if they have the host, otherwise an upstream that carries messages.
        case message(NameBackend, Host?)
        /// Tables only, because this client may not ask this machine's resolver.
        case tables(NameBackend, Host)
        /// This machine's resolver. It has addresses only, so for other types it tells only whether the name exists.
        case existence(NameBackend, Host)
    }

    /// A question, and the aliases in the zones that lead to it.
    ///
    /// Computed once for each question, because it requires a search of rules, zones and domains.
    struct Step {
        var query: MessageQuery
        var finding: ZoneSet.Finding?
        var route: Route
    }

    /// The answer to a query without RD if an upstream would be asked: the aliases in the zones, or the name servers to
    /// which a zone delegates the name. The client asks others for the rest (RFC 1034 §4.3.2).
    func answerWithoutRecursion(_ step: Step) -> ServerAnswer {
        if let found = step.finding?.answer, !found.answers.isEmpty { return found }
        return zones.set.referral(for: step.query.question.name) ?? .notAuthoritative
    }

    /// Decides where a question is answered.
    func step(_ query: MessageQuery) -> Step {
        let (name, type) = (query.question.name, query.question.type)
        // Answers of zones, the fastest ones, need no host.
        let host = rules == nil ? nil : NameHost(name)
        if let host {
            let forwarded = domains.closest(to: host.host)?.length ?? 0
            if let answer = rules?.answer(name, host: host, type, forwarded: forwarded) {
                return Step(query: query, route: .here(answer))
            }
        }
        let finding = zones.set.lookUp(name, type)
        if let finding, finding.outside == nil { return Step(query: query, route: .here(finding.answer)) }
        var query = query
        if let target = finding?.outside { query.question.name = target }
        let key = query.question.name == name ? host ?? NameHost(name) : NameHost(query.question.name)
        return Step(query: query, finding: finding, route: route(query, key, isPublished: finding != nil))
    }

    /// - Parameter isPublished: Whether an alias in a zone leads to the name. All clients then get an answer, even if
    ///   the name is private.
    private func route(_ query: MessageQuery, _ key: NameHost?, isPublished: Bool) -> Route {
        let (name, type) = (query.question.name, query.question.type)
        if type == .any { return .here(.refusalOfAny(name)) }
        let family = Self.family(type)
        guard let key else {
            // The root has no addresses.
            if name == .root, SpecialName.isUnasked(type) { return .here(ServerAnswer(.noError)) }
            guard family == nil, backend.isForwarding else {
                return .here(ServerAnswer(family == nil ? .notImplemented : .noSuchName))
            }
            return .message(backend, nil)
        }
        let host = key.host
        // A domain of the main resolver is an exception from a larger domain. Its names are as private as others.
        let group = domains[host].flatMap { $0 === self.backend ? nil : $0 }
        let backend = group ?? self.backend
        if group == nil, let answer = SpecialName.answer(name, host: host, type: type) { return .here(answer) }
        // A single label is private as a host. As a zone it is public, and validators ask for its records.
        let isZone = SpecialName.isOfZones(type) && name.labels.count == 1
        let isKept = group == nil && !host.isLocalhost && !isZone && backend.resolver.isKeptFromUpstreams(host)
        // This machine's resolver and tables know hosts only.
        if isKept, !key.isName { return .here(ServerAnswer(.noSuchName)) }
        if isKept, !asksSystem, !isPublished {
            guard backend.resolver.hasTables else { return .here(ServerAnswer(.refused, errors: [.prohibited])) }
            return .tables(backend, host)
        }
        if isTurnedOff(type, of: host, by: backend.resolver), !query.wantsSignatures, !query.isUnchecked {
            return .here(ServerAnswer(absenceOf: name, ttl: Self.turnedOffTTL))
        }
        // Validators need the signatures, which only messages have.
        let needsMessage = family == nil || query.wantsSignatures || query.isUnchecked || !key.isName
        if needsMessage, !isKept, !host.isLocalhost, backend.isForwarding {
            return .message(backend, key.isName ? host : nil)
        }
        guard key.isName else { return .here(ServerAnswer(family == nil ? .notImplemented : .noSuchName)) }
        let asked = isKept || backend.mayAskSystem ? host.absolute : host
        if let family { return .addresses(backend, asked, family) }
        if isKept || host.isLocalhost { return .existence(backend, asked) }
        return .here(ServerAnswer(.notImplemented, errors: [.unsupported]))
    }

    /// Whether the resolver uses no records of a type: addresses of the other family with `-4` and `-6`, and HTTPS
    /// records with `--no-https-records`. Clients get none then, except the addresses of tables, which answer as zones and
    /// lists do. Validators would refuse a denial without signatures.
    private func isTurnedOff(_ type: DNSType, of host: Host, by resolver: Resolver) -> Bool {
        guard deniesTurnedOff else { return false }
        let configuration = resolver.configuration
        guard let family = Self.family(type) else { return type == .https && !configuration.usesHTTPSRecords }
        return !configuration.families.contains(Families(family)) && !resolver.isInTable(host)
    }

    /// Whether a table or this machine's resolver has the answer, so that a flood of the upstreams does not affect it.
    func needsNoUpstream(_ step: Step) -> Bool { isKnownHere(step) || systemQuestion(step) != nil }

    /// Whether this server has the answer without its cache, so that neither an upstream nor this machine's resolver is
    /// asked.
    func isKnownHere(_ step: Step) -> Bool {
        switch step.route {
        case .addresses(let backend, let host, _), .tables(let backend, let host): backend.resolver.isInTable(host)
        case .message(let backend, let host): host.map(backend.resolver.isInTable) ?? false
        case .existence(let backend, let host): host.isLocalhost || backend.resolver.isInTable(host)
        case .here: true
        }
    }

    /// Whether only clients that may ask this machine's resolver get the answer.
    func isPrivate(_ step: Step) -> Bool { marksPrivate && asksSystem && systemQuestion(step) != nil }

    /// The name and family to ask this machine's resolver for; nil if it is not asked.
    func systemQuestion(_ step: Step) -> DNSQuestion? {
        switch step.route {
        case .addresses(let backend, let host, let family):
            guard backend === self.backend, backend.resolver.isKeptFromUpstreams(host), !host.isLocalhost else {
                return nil
            }
            return DNSQuestion(step.query.question.name, family == .v4 ? .a : .aaaa)
        case .existence: return DNSQuestion(step.query.question.name, .a)
        case .here, .message, .tables: return nil
        }
    }
}
