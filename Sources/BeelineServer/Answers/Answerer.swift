// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// Answers questions from the zones, and from the resolver if no zone has the name.
struct Answerer: Sendable {
    let resolver: Resolver
    let zones: ZoneFiles
    var privateNames = ServerConfiguration.PrivateNames.forLoopback
    /// Whether the client may ask this machine's own resolver.
    private(set) var asksSystem = false

    /// The TTL of a stale answer, in seconds (RFC 8767 §4).
    private static let staleTTL: UInt32 = 30

    func serving(_ client: IPAddress) -> Answerer {
        var answerer = self
        answerer.asksSystem = privateNames.includes(client)
        return answerer
    }

    /// The answer, if it is available without waiting. Nil if an upstream must be asked.
    func known(_ name: DNSName, type: DNSType, subnet: IPNetwork?) -> ServerAnswer? {
        let finding = zones.set.lookUp(name, type)
        if let finding, finding.outside == nil { return finding.answer }
        guard let family = Self.family(type) else {
            return type == .https && resolver.carriesServices ? nil : ServerAnswer(.notImplemented)
        }
        let target = finding?.outside ?? name
        guard let host = Self.host(target) else { return prepending(finding, to: ServerAnswer(.noSuchName)) }
        // The owner of a zone may publish a private name with an alias.
        if finding == nil, isWithheld(host) { return resolver.hasTables ? nil : ServerAnswer(.refused) }
        let cached = resolver.current(host, families: Families(family), subnet: subnet)
        return cached.map { prepending(finding, to: self.answer(from: $0, name: target, family: family)) }
    }

    /// The answer. Asks an upstream if necessary.
    func answer(_ name: DNSName, type: DNSType, subnet: IPNetwork?) async -> ServerAnswer {
        let finding = zones.set.lookUp(name, type)
        if let finding, finding.outside == nil { return finding.answer }
        let target = finding?.outside ?? name
        // The upstreams are asked for addresses and HTTPS records only, so other types come from zones alone.
        let family = Self.family(type)
        guard family != nil || type == .https else { return ServerAnswer(.notImplemented) }
        guard let host = Self.host(target) else { return prepending(finding, to: ServerAnswer(.noSuchName)) }
        guard let family else {
            // Names that stay on this machine have no records that others could use.
            if resolver.isKeptFromUpstreams(host) { return ServerAnswer(.refused) }
            return prepending(finding, to: await services(of: host, name: target))
        }
        if finding == nil, isWithheld(host) { return await tableAnswer(host, name: target, family: family) }
        do throws(ResolutionError) {
            let resolution = try await resolver.resolve(host, families: Families(family), subnet: subnet)
            return prepending(finding, to: self.answer(from: resolution, name: target, family: family))
        } catch {
            switch error.code {
            case .noSuchName: return prepending(finding, to: ServerAnswer(.noSuchName, source: "upstream"))
            case .noAddress: return prepending(finding, to: ServerAnswer(.noError, source: "upstream"))
            default: return ServerAnswer(.serverFailure, source: error.code.description)
            }
        }
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

    /// Whether only tables may answer a name, because this client may not ask this machine's resolver.
    private func isWithheld(_ host: Host) -> Bool {
        !asksSystem && !host.isLocalhost && resolver.isKeptFromUpstreams(host)
    }

    private func tableAnswer(_ host: Host, name: DNSName, family: IPAddress.Family) async -> ServerAnswer {
        let records = await resolver.tableAnswer(to: Question(host, families: Families(family)))?[family]
        guard let records else { return ServerAnswer(.refused) }
        var answer = ServerAnswer()
        answer.source = UpstreamKind.fixed.description
        let ttl = UInt32(clamping: records.ttl?.components.seconds ?? 0)
        answer.answers = records.addresses.map { DNSRecord(name, ttl: ttl, .address($0)) }
        return answer
    }

    private func services(of host: Host, name: DNSName) async -> ServerAnswer {
        guard let found = await resolver.services(of: host) else {
            return ServerAnswer(resolver.carriesServices ? .serverFailure : .notImplemented)
        }
        var answer = ServerAnswer(.noError, source: "upstream")
        let ttl = UInt32(clamping: (found.ttl + .milliseconds(500)).components.seconds)
        answer.answers = found.records.map { DNSRecord(name, ttl: ttl, .other(.https, $0.octets)) }
        return answer
    }

    private func prepending(_ finding: ZoneSet.Finding?, to answer: ServerAnswer) -> ServerAnswer {
        guard let finding else { return answer }
        var answer = answer
        answer.answers = finding.answer.answers + answer.answers
        return answer
    }

    private func answer(from resolution: Resolution, name: DNSName, family: IPAddress.Family) -> ServerAnswer {
        // Rounds to the nearest second, so that a fresh answer keeps the TTL of its upstream.
        let seconds = (resolution.ttl + .milliseconds(500)).components.seconds
        let ttl =
            resolution.source == .stale
            ? Self.staleTTL : UInt32(min(max(seconds, 0), Int64(resolution.source == .literal ? 3_600 : Int32.max)))
        var answer = ServerAnswer()
        answer.source = resolution.source.description
        answer.answers = originalAddresses(resolution.addresses, family: family).map {
            DNSRecord(name, ttl: ttl, .address($0))
        }
        return answer
    }

    /// The addresses as the upstream returned them. In an IPv6-only network the resolver synthesizes IPv6 addresses (RFC 6052).
    /// They are valid in this network only, so clients get the original IPv4 addresses.
    private func originalAddresses(_ addresses: [IPAddress], family: IPAddress.Family) -> [IPAddress] {
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

    /// The host of a name. Nil if the name is not a valid host, or is an IP address.
    private static func host(_ name: DNSName) -> Host? {
        guard let host = try? Host(name.description), host.address == nil else { return nil }
        return host
    }
}

/// The answers for the addresses of one host.
struct HostAnswer: Sendable {
    let name: DNSName
    /// Nil if the question does not ask for this family.
    let v4: ServerAnswer?
    let v6: ServerAnswer?

    subscript(family: IPAddress.Family) -> ServerAnswer? { family == .v4 ? v4 : v6 }

    /// Whether an upstream failed and the other family has no address either. Answering "no address" would then be a guess.
    var isFailure: Bool { hasFailure && [v4, v6].allSatisfy { $0?.addresses.isEmpty ?? true } }

    /// Whether every requested family failed.
    var saysNothing: Bool { [v4, v6].allSatisfy { $0?.isFailure ?? true } }

    /// Whether at least one family failed.
    var hasFailure: Bool { [v4, v6].contains { $0?.isFailure ?? false } }

    /// Whether the name does not exist.
    var isNoName: Bool { [v4, v6].contains { $0?.code == .noSuchName } }

    /// The smallest TTL of the families that have addresses. If none has, the smallest TTL of the negative answers.
    var ttl: UInt32 {
        let parts = [v4, v6].compactMap(\.self)
        return parts.filter { !$0.addresses.isEmpty }.map(ttl(of:)).min() ?? parts.map(\.ttl).min() ?? 0
    }

    /// The TTL of one family. Some forms cannot report that the other family failed, so the TTL is then at most
    /// `ServerAnswer.negativeTTL`.
    func ttl(of part: ServerAnswer) -> UInt32 { hasFailure ? min(part.ttl, ServerAnswer.negativeTTL) : part.ttl }

    var source: String { (v4 ?? v6)?.source ?? "-" }
}
