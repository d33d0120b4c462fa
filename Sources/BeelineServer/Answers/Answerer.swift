// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// Answers questions from rules, zones, the resolver, or an upstream that carries messages, in this order.
struct Answerer: Sendable {
    var backend: NameBackend
    let zones: ZoneFiles
    /// Other resolvers for some domains.
    var domains: DomainMap<NameBackend> = [:]
    /// Blocked names, and names with other addresses.
    var rules: NameRules?
    var privateNames = PrivateNameAccess.forLoopback
    /// Whether a name without IPv6 addresses gets synthesized ones where the network has NAT64 (RFC 6147).
    var synthesizes = false
    /// Whether clients get no records of the types that the resolver does not use.
    var deniesTurnedOff = true
    /// Whether answers for clients with rights are marked, for HTTP.
    var marksPrivate = false
    /// Whether the client may ask this machine's own resolver.
    private(set) var asksSystem = false

    /// The TTL of a stale answer, in seconds (RFC 8767 §4).
    static let staleTTL: UInt32 = 30

    /// The TTL of the answer for records that the resolver does not use, in seconds.
    static let turnedOffTTL: UInt32 = 60

    func serving(_ client: IPAddress) -> Answerer {
        var answerer = self
        answerer.asksSystem = privateNames.includes(client)
        return answerer
    }

    // MARK: Answers of upstreams

    /// The answer. Asks an upstream if necessary.
    func answer(_ query: MessageQuery) async -> ServerAnswer { await answer(step(query)) }

    /// The answer. Asks an upstream if necessary.
    func answer(_ step: Step) async -> ServerAnswer {
        let name = step.query.question.name
        switch step.route {
        case .here(let answer): return prepending(step.finding, to: answer)
        case .message(let backend, let host):
            let type = step.query.question.type
            if let host, let answer = await tableAnswer(backend.resolver, host, name: name, type: type) {
                return prepending(step.finding, to: answer)
            }
            let answer = await backend.forwarder.answer(step.query)
            guard let original = originalQuery(of: step.query, answer, by: backend.resolver) else {
                return prepending(step.finding, to: answer)
            }
            let v4 = await backend.forwarder.answer(original)
            return prepending(step.finding, to: synthesized(from: v4, replacing: answer, by: backend.resolver))
        case .tables(let backend, let host):
            let answer = await tableAnswer(backend.resolver, host, name: name, type: step.query.question.type)
            return answer ?? ServerAnswer(.refused, errors: [.prohibited])
        case .addresses(let backend, let host, let family):
            let subnet = step.query.subnet
            var answer = await addresses(backend.resolver, host, name: name, family: family, subnet: subnet)
            if needsSynthesis(answer, by: backend.resolver, family: family) {
                let v4 = await addresses(backend.resolver, host, name: name, family: .v4, subnet: subnet)
                answer = synthesized(from: v4, replacing: answer, by: backend.resolver)
            }
            answer.isPrivate = isPrivate(step)
            return answer.isFailure ? answer : prepending(step.finding, to: answer)
        case .existence(let backend, let host):
            var answer = await addresses(backend.resolver, host, name: name, family: .v4, subnet: nil)
            answer.answers = []
            answer.isPrivate = isPrivate(step)
            return answer.isFailure ? answer : prepending(step.finding, to: answer)
        }
    }

    private func addresses(
        _ resolver: Resolver,
        _ host: Host,
        name: DNSName,
        family: IPAddress.Family,
        subnet: IPNetwork?
    ) async -> ServerAnswer {
        do throws(ResolutionError) {
            let resolution = try await resolver.resolve(host, families: Families(family), subnet: subnet)
            return answer(from: resolution, by: resolver, name: name, family: family)
        } catch {
            return failure(error, by: resolver, host, name: name, family: family, subnet: subnet)
        }
    }

    /// The answer for a failed lookup. While the upstreams fail, a name that had no address of a family still has none:
    /// some clients ask for both families and use neither if the answer for one is a failure.
    func failure(
        _ error: ResolutionError,
        by resolver: Resolver,
        _ host: Host,
        name: DNSName,
        family: IPAddress.Family,
        subnet: IPNetwork?
    ) -> ServerAnswer {
        let isOutage = error.code == .allUpstreamsFailed || error.code == .timeLimit
        guard isOutage, resolver.hadNone(host, family, subnet: subnet) else { return ServerAnswer(error, name: name) }
        return Self.staleAbsence(of: name)
    }

    /// The answer that a name has no address, past its TTL.
    static func staleAbsence(of name: DNSName) -> ServerAnswer {
        ServerAnswer(absenceOf: name, ttl: staleTTL, source: "stale", errors: [.staleAnswer])
    }

    /// Whether an answer without IPv6 addresses gets synthesized ones.
    func needsSynthesis(_ answer: ServerAnswer, by resolver: Resolver, family: IPAddress.Family) -> Bool {
        synthesizes && family == .v6 && answer.code == .noError && answer.addresses.isEmpty
            && !resolver.network.nat64.isEmpty
    }

    /// The query for the IPv4 addresses to make IPv6 ones from; nil if the answer needs none. A client that checks
    /// answers itself (CD) gets the upstream's (RFC 6147 §5.5).
    func originalQuery(of query: MessageQuery, _ answer: ServerAnswer, by resolver: Resolver) -> MessageQuery? {
        guard query.question.type == .aaaa, !query.isUnchecked, needsSynthesis(answer, by: resolver, family: .v6)
        else { return nil }
        var query = query
        query.question = DNSQuestion(query.question.name, .a)
        return query
    }

    /// The answer with IPv6 addresses made from IPv4 ones, in place of an answer without any (RFC 6147 §5.1.6). A
    /// failure stays one: the absence of IPv6 addresses would be cached as that of all addresses.
    func synthesized(from v4: ServerAnswer, replacing answer: ServerAnswer, by resolver: Resolver) -> ServerAnswer {
        if v4.isFailure { return v4 }
        guard !v4.addresses.isEmpty else { return answer }
        // Without an SOA, at most 600 s (RFC 6147 §5.1.7).
        return v4.synthesized(with: resolver.network.nat64, atMost: answer.ttlOfAbsence ?? 600)
    }

    static func query(_ name: DNSName, _ family: IPAddress.Family, subnet: IPNetwork?) -> MessageQuery {
        var query = MessageQuery(DNSQuestion(name, family == .v4 ? .a : .aaaa))
        query.subnet = subnet
        return query
    }

    /// Answers for several families of one host. A failed family has an error's response code.
    func answers(_ name: DNSName, families: Families, subnet: IPNetwork?) async -> HostAnswer {
        @Sendable func part(_ family: IPAddress.Family) async -> (family: IPAddress.Family, answer: ServerAnswer) {
            (family, await answer(Self.query(name, family, subnet: subnet)))
        }
        guard families == .both else {
            return HostAnswer(name: name, parts: [await part(families == .v4 ? .v4 : .v6)])
        }
        async let v4 = part(.v4)
        async let v6 = part(.v6)
        return await HostAnswer(name: name, parts: [v4, v6])
    }

    /// Answers for several hosts, in the order of `names`. Looks them up concurrently: each form limits their number.
    func answers(_ names: [DNSName], families: Families, subnet: IPNetwork?) async -> [HostAnswer] {
        if names.count == 1 { return [await answers(names[0], families: families, subnet: subnet)] }
        return await withTaskGroup(of: (place: Int, answer: HostAnswer).self) { group in
            for (place, name) in names.enumerated() {
                group.addTask { (place, await answers(name, families: families, subnet: subnet)) }
            }
            var found: [(place: Int, answer: HostAnswer)] = []
            for await one in group { found.append(one) }
            return found.sorted { $0.place < $1.place }.map(\.answer)
        }
    }

    /// The TTL of the answer that a table has no record of a type, in seconds, as for its addresses.
    private static let tableTTL: UInt32 = 60

    /// The answer of the tables. If a table has the host, its addresses are the only ones. Nil if no table has it.
    private func tableAnswer(_ resolver: Resolver, _ host: Host, name: DNSName, type: DNSType) async -> ServerAnswer? {
        guard resolver.hasTables, let found = await resolver.tableAnswer(to: Question(host)) else { return nil }
        var answer = ServerAnswer(absenceOf: name, ttl: Self.tableTTL, source: UpstreamKind.fixed.description)
        guard let family = Self.family(type), let records = found[family], !records.addresses.isEmpty else {
            return answer
        }
        answer.authorities = []
        let ttl = UInt32(clamping: records.ttl?.components.seconds ?? 0)
        answer.answers = records.addresses.map { DNSRecord(name, ttl: ttl, .address($0)) }
        return answer
    }

    func prepending(_ finding: ZoneSet.Finding?, to answer: ServerAnswer) -> ServerAnswer {
        guard let finding, !finding.answer.answers.isEmpty else { return answer }
        var answer = answer
        answer.isVerified = false
        // AA is about the first owner (RFC 1035 §4.1.1).
        answer.isAuthoritative = finding.answer.isAuthoritative
        answer.answers = finding.answer.answers + answer.answers
        return answer
    }

    func answer(
        from resolution: Resolution,
        by resolver: Resolver,
        name: DNSName,
        family: IPAddress.Family
    ) -> ServerAnswer {
        // Rounds to the nearest second, so that a fresh answer keeps the TTL of its upstream.
        let seconds = (resolution.ttl + .milliseconds(500)).components.seconds
        let ttl =
            resolution.source == .stale
            ? Self.staleTTL : UInt32(min(max(seconds, 0), Int64(resolution.source == .literal ? 3_600 : Int32.max)))
        var answer = ServerAnswer()
        answer.source = resolution.source.description
        if resolution.source == .stale { answer.errors = [.staleAnswer] }
        answer.answers = originalAddresses(resolution.addresses, family: family, resolver: resolver).map {
            DNSRecord(name, ttl: ttl, .address($0))
        }
        return answer
    }

    /// The addresses as the upstream returned them. In an IPv6-only network the resolver synthesizes IPv6 addresses
    /// (RFC 6052). They are valid in this network only, so clients get the original IPv4 addresses.
    private func originalAddresses(
        _ addresses: [IPAddress],
        family: IPAddress.Family,
        resolver: Resolver
    ) -> [IPAddress] {
        guard addresses.contains(where: { $0.family != family }) else { return addresses }
        let prefixes = resolver.network.nat64
        var originals: [IPAddress] = []
        for address in addresses {
            let original = address.family == family ? address : prefixes.lazy.compactMap { $0.extract(address) }.first
            if let original, original.family == family, !originals.contains(original) { originals.append(original) }
        }
        return originals
    }

    static func family(_ type: DNSType) -> IPAddress.Family? {
        type == .a ? .v4 : type == .aaaa ? .v6 : nil
    }
}

extension ServerAnswer {
    /// The answer for a name whose addresses could not be found.
    init(_ error: ResolutionError, name: DNSName) {
        // Rounds to the nearest second, as the TTL of addresses.
        let ttl = error.ttl.map { UInt32(clamping: ($0 + .milliseconds(500)).components.seconds) }
        switch error.code {
        case .noSuchName: self.init(absenceOf: name, .noSuchName, ttl: ttl, source: "upstream")
        case .noAddress: self.init(absenceOf: name, ttl: ttl, source: "upstream")
        default:
            let reasons = [ExtendedError(error.code)].compactMap(\.self)
            self.init(.serverFailure, source: error.code.description, errors: reasons)
            failures = error.failures
        }
    }

    /// The answer with IPv6 addresses in place of IPv4 ones (RFC 6147 §5.1.7), without signatures and not validated.
    func synthesized(with prefixes: [NAT64Prefix], atMost ttl: UInt32) -> ServerAnswer {
        var answer = self
        answer.isVerified = false
        answer.authorities = []
        answer.answers = answers.filter { $0.type != .signature }.flatMap { record -> [DNSRecord] in
            guard case .address(let address) = record.data else { return [record] }
            return prefixes.compactMap { $0.synthesize(address) }.map {
                DNSRecord(record.name, ttl: min(record.ttl, ttl), .address($0))
            }
        }
        return answer
    }
}
