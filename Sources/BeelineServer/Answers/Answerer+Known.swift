// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// Answers that are available without waiting.
extension Answerer {
    /// The answer, if it is available without waiting. Nil if an upstream must be asked.
    func known(_ query: MessageQuery) -> ServerAnswer? { known(step(query)) }

    /// The answer, if it is available without waiting. Nil if an upstream must be asked.
    ///
    /// - Parameter refreshes: Whether an upstream may be asked in the background for a name whose TTL is nearly over.
    func known(_ step: Step, refreshes: Bool = true) -> ServerAnswer? {
        switch step.route {
        case .here(let answer): return prepending(step.finding, to: answer)
        case .message(let backend, let host):
            // Reading a table may take time.
            if host != nil, backend.resolver.hasTables { return nil }
            guard let answer = backend.forwarder.known(step.query) else { return nil }
            guard let original = originalQuery(of: step.query, answer, by: backend.resolver) else {
                return prepending(step.finding, to: answer)
            }
            guard let v4 = backend.forwarder.known(original) else { return nil }
            return prepending(step.finding, to: synthesized(from: v4, replacing: answer, by: backend.resolver))
        case .addresses(let backend, let host, let family):
            let found = { (family: IPAddress.Family) in
                known(step.query, of: host, family, by: backend.resolver, refreshes: refreshes)
            }
            guard var answer = found(family) else { return nil }
            if needsSynthesis(answer, by: backend.resolver, family: family) {
                // IPv6 addresses are made from IPv4 ones, which need a separate question.
                guard let v4 = found(.v4) else { return nil }
                answer = synthesized(from: v4, replacing: answer, by: backend.resolver)
            }
            answer.isPrivate = isPrivate(step)
            return answer.isFailure ? answer : prepending(step.finding, to: answer)
        case .tables, .existence: return nil
        }
    }

    private func known(
        _ query: MessageQuery,
        of host: Host,
        _ family: IPAddress.Family,
        by resolver: Resolver,
        refreshes: Bool
    ) -> ServerAnswer? {
        let (name, subnet) = (query.question.name, query.subnet)
        return switch resolver.current(host, families: Families(family), subnet: subnet, refreshes: refreshes) {
        case .success(let found)?: answer(from: found, by: resolver, name: name, family: family)
        case .failure(let error)?: failure(error, by: resolver, host, name: name, family: family, subnet: subnet)
        case nil: nil
        }
    }

    /// The addresses of a host, if they are available without waiting. Nil if an upstream must be asked.
    func known(_ name: DNSName, _ family: IPAddress.Family, subnet: IPNetwork?) -> HostAnswer? {
        let answer = known(Self.query(name, family, subnet: subnet))
        return answer.map { HostAnswer(name: name, parts: [(family, $0)]) }
    }

    /// The answer past its TTL for a question that cannot be looked up now (RFC 8767). Nil if there is none.
    func stale(_ step: Step) -> ServerAnswer? {
        switch step.route {
        case .message(let backend, let host):
            // The addresses of a table are the only ones of its hosts.
            if let host, backend.resolver.isInTable(host) { return nil }
            guard let answer = backend.forwarder.stale(step.query) else { return nil }
            guard let original = originalQuery(of: step.query, answer, by: backend.resolver) else {
                return prepending(step.finding, to: answer)
            }
            guard let v4 = backend.forwarder.stale(original), !v4.isFailure else { return nil }
            return prepending(step.finding, to: synthesized(from: v4, replacing: answer, by: backend.resolver))
        case .addresses(let backend, let host, let family):
            let answer = staleAnswer(to: step, by: backend.resolver, host: host, family: family)
            return answer.map { prepending(step.finding, to: $0) }
        case .here, .tables, .existence: return nil
        }
    }

    private func staleAnswer(
        to step: Step,
        by resolver: Resolver,
        host: Host,
        family: IPAddress.Family
    ) -> ServerAnswer? {
        let (name, subnet) = (step.query.question.name, step.query.subnet)
        if let found = resolver.stale(host, families: Families(family), subnet: subnet) {
            return answer(from: found, by: resolver, name: name, family: family)
        }
        guard synthesizes, family == .v6, !resolver.network.nat64.isEmpty else {
            return resolver.hadNone(host, family, subnet: subnet) ? Self.staleAbsence(of: name) : nil
        }
        // IPv6 addresses may be made from IPv4 ones. If those are unknown, the absence would be cached as that of all
        // addresses.
        var originals = resolver.stale(host, families: .v4, subnet: subnet)
        if case .success(let found) = resolver.current(host, families: .v4, subnet: subnet) { originals = found }
        guard let originals else {
            let hasNeither = resolver.hadNone(host, .v6, subnet: subnet) && resolver.hadNone(host, .v4, subnet: subnet)
            return hasNeither ? Self.staleAbsence(of: name) : nil
        }
        let found = answer(from: originals, by: resolver, name: name, family: .v4)
        // The name may have IPv6 addresses. The client asks for them again soon.
        let made = found.synthesized(with: resolver.network.nat64, atMost: Self.staleTTL)
        return made.addresses.isEmpty ? nil : made
    }

    /// Whether the limit of concurrent lookups allows the question now.
    ///
    /// - Parameter leavesReserve: Whether a quarter of the lookups is left to other questions.
    func hasRoom(_ step: Step, leavesReserve: Bool) -> Bool {
        switch step.route {
        case .message(let backend, let host):
            (host.map(backend.resolver.isInTable) ?? false)
                || backend.forwarder.hasRoom(step.query, leavesReserve: leavesReserve)
        case .addresses(let backend, let host, let family):
            backend.resolver.hasRoom(
                host,
                families: Families(family),
                subnet: step.query.subnet,
                leavesReserve: leavesReserve && !needsNoUpstream(step)
            )
        case .here, .tables, .existence: true
        }
    }
}
