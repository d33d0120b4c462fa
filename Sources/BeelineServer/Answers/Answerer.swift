// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// Answers questions from the rules and zones. If neither has the name, asks the resolver or an upstream that carries
/// messages.
struct Answerer: Sendable {
    var backend: NameBackend
    let zones: ZoneFiles
    /// Other resolvers for some domains.
    var domains: DomainMap<NameBackend> = [:]
    /// Blocked names, and names with other addresses.
    var rules: NameRules?
    var privateNames = ServerConfiguration.PrivateNames.forLoopback
    /// Whether a name without IPv6 addresses gets synthesized ones where the network has NAT64 (RFC 6147).
    var synthesizes = false
    /// Whether the client may ask this machine's own resolver.
    private(set) var asksSystem = false

    init(
        resolver: Resolver,
        zones: ZoneFiles,
        privateNames: ServerConfiguration.PrivateNames = .forLoopback
    ) {
        self.init(NameBackend(resolver), zones: zones, privateNames: privateNames)
    }

    init(_ backend: NameBackend, zones: ZoneFiles, privateNames: ServerConfiguration.PrivateNames) {
        self.backend = backend
        self.zones = zones
        self.privateNames = privateNames
    }

    /// The TTL of a stale answer, in seconds (RFC 8767 §4).
    private static let staleTTL: UInt32 = 30

    func serving(_ client: IPAddress) -> Answerer {
        var answerer = self
        answerer.asksSystem = privateNames.includes(client)
        return answerer
    }

    /// Where a question is answered.
    private enum Route {
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
    private struct Step {
        var query: MessageQuery
        var finding: ZoneSet.Finding?
        var route: Route
    }

    private func step(_ query: MessageQuery) -> Step {
        let (name, type) = (query.question.name, query.question.type)
        if let answer = rules?.answer(name, type) { return Step(query: query, route: .here(answer)) }
        let finding = zones.set.lookUp(name, type)
        if let finding, finding.outside == nil { return Step(query: query, route: .here(finding.answer)) }
        var query = query
        if let target = finding?.outside { query.question.name = target }
        return Step(query: query, finding: finding, route: route(query, isPublished: finding != nil))
    }

    /// - Parameter isPublished: Whether an alias in a zone leads to the name. All clients then get an answer, even if
    ///   the name is private.
    private func route(_ query: MessageQuery, isPublished: Bool) -> Route {
        let (name, type) = (query.question.name, query.question.type)
        if type == .any { return .here(.refusalOfAny(name)) }
        let family = Self.family(type)
        guard let key = NameHost(name) else {
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

    /// The name and family to ask this machine's resolver for; nil if it is not asked.
    func systemQuestion(_ query: MessageQuery) -> DNSQuestion? {
        let step = step(query)
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

    /// The answer, if it is available without waiting. Nil if an upstream must be asked.
    func known(_ query: MessageQuery) -> ServerAnswer? {
        let step = step(query)
        switch step.route {
        case .here(let answer): return prepending(step.finding, to: answer)
        case .message(let backend, let host):
            // Reading a table may take time.
            if host != nil, backend.resolver.hasTables { return nil }
            return backend.forwarder.known(step.query).map { prepending(step.finding, to: $0) }
        case .addresses(let backend, let host, let family):
            let cached = backend.resolver.current(host, families: Families(family), subnet: query.subnet)
            let name = step.query.question.name
            return cached.map {
                prepending(step.finding, to: answer(from: $0, by: backend.resolver, name: name, family: family))
            }
        case .tables, .existence: return nil
        }
    }

    /// The answer. Asks an upstream if necessary.
    func answer(_ query: MessageQuery) async -> ServerAnswer {
        let step = step(query)
        let name = step.query.question.name
        switch step.route {
        case .here(let answer): return prepending(step.finding, to: answer)
        case .message(let backend, let host):
            let type = step.query.question.type
            if let host, let answer = await tableAnswer(backend.resolver, host, name: name, type: type) {
                return prepending(step.finding, to: answer)
            }
            return prepending(step.finding, to: await backend.forwarder.answer(step.query))
        case .tables(let backend, let host):
            let answer = await tableAnswer(backend.resolver, host, name: name, type: step.query.question.type)
            return answer ?? ServerAnswer(.refused, errors: [.prohibited])
        case .addresses(let backend, let host, let family):
            var answer = await addresses(backend.resolver, host, name: name, family: family, subnet: query.subnet)
            let prefixes = synthesizes && family == .v6 ? backend.resolver.network.nat64 : []
            if !prefixes.isEmpty, answer.code == .noError, answer.addresses.isEmpty {
                let v4 = await addresses(backend.resolver, host, name: name, family: .v4, subnet: query.subnet)
                if !v4.addresses.isEmpty { answer = v4.synthesized(with: prefixes) }
            }
            return answer.isFailure ? answer : prepending(step.finding, to: answer)
        case .existence(let backend, let host):
            var answer = await addresses(backend.resolver, host, name: name, family: .v4, subnet: nil)
            answer.answers = []
            return answer.isFailure ? answer : prepending(step.finding, to: answer)
        }
    }

    /// The addresses of a host from a resolver.
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
            switch error.code {
            case .noSuchName: return ServerAnswer(.noSuchName, source: "upstream")
            case .noAddress: return ServerAnswer(.noError, source: "upstream")
            default:
                let reasons = [ExtendedError(error.code)].compactMap(\.self)
                return ServerAnswer(.serverFailure, source: error.code.description, errors: reasons)
            }
        }
    }

    private func answer(_ name: DNSName, type: DNSType, subnet: IPNetwork?) async -> ServerAnswer {
        var query = MessageQuery(DNSQuestion(name, type))
        query.subnet = subnet
        return await answer(query)
    }

    /// Answers for several families of one host. A failed family has an error's response code.
    func answers(_ name: DNSName, families: Families, subnet: IPNetwork?) async -> HostAnswer {
        async let v4 = families.contains(.v4) ? answer(name, type: .a, subnet: subnet) : nil
        async let v6 = families.contains(.v6) ? answer(name, type: .aaaa, subnet: subnet) : nil
        return await HostAnswer(name: name, v4: v4, v6: v6)
    }

    /// The maximum number of concurrent lookups for one question.
    private static let batchWidth = 8

    /// Answers for several hosts, in the order of `names`. Looks them up concurrently, ``batchWidth`` at a time.
    func answers(_ names: [DNSName], families: Families, subnet: IPNetwork?) async -> [HostAnswer] {
        if names.count == 1 { return [await answers(names[0], families: families, subnet: subnet)] }
        return await withTaskGroup(of: (place: Int, answer: HostAnswer).self) { group in
            var found: [(place: Int, answer: HostAnswer)] = []
            for (place, name) in names.enumerated() {
                if place >= Self.batchWidth, let one = await group.next() { found.append(one) }
                group.addTask { (place, await answers(name, families: families, subnet: subnet)) }
            }
            for await one in group { found.append(one) }
            return found.sorted { $0.place < $1.place }.map(\.answer)
        }
    }

    /// The answer of the tables. If a table has the host, its addresses are the only ones. Nil if no table has it.
    private func tableAnswer(_ resolver: Resolver, _ host: Host, name: DNSName, type: DNSType) async -> ServerAnswer? {
        guard resolver.hasTables, let found = await resolver.tableAnswer(to: Question(host)) else { return nil }
        var answer = ServerAnswer()
        answer.source = UpstreamKind.fixed.description
        guard let family = Self.family(type), let records = found[family] else { return answer }
        let ttl = UInt32(clamping: records.ttl?.components.seconds ?? 0)
        answer.answers = records.addresses.map { DNSRecord(name, ttl: ttl, .address($0)) }
        return answer
    }

    private func prepending(_ finding: ZoneSet.Finding?, to answer: ServerAnswer) -> ServerAnswer {
        guard let finding, !finding.answer.answers.isEmpty else { return answer }
        var answer = answer
        answer.isVerified = false
        answer.answers = finding.answer.answers + answer.answers
        return answer
    }

    private func answer(
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

    /// The addresses as the upstream returned them. In an IPv6-only network the resolver synthesizes IPv6 addresses (RFC 6052).
    /// They are valid in this network only, so clients get the original IPv4 addresses.
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

    private static func family(_ type: DNSType) -> IPAddress.Family? {
        type == .a ? .v4 : type == .aaaa ? .v6 : nil
    }
}

extension ServerAnswer {
    /// The answer with IPv6 addresses in place of IPv4 ones (RFC 6147 §5.1.7).
    func synthesized(with prefixes: [NAT64Prefix]) -> ServerAnswer {
        var answer = self
        answer.answers = answers.flatMap { record -> [DNSRecord] in
            guard case .address(let address) = record.data else { return [record] }
            return prefixes.compactMap { $0.synthesize(address) }.map {
                DNSRecord(record.name, ttl: min(record.ttl, 600), .address($0))
            }
        }
        return answer
    }
}
