// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// Answers questions: from the zones, and what is not in them from the resolver.
struct Answerer: Sendable {
    let resolver: Resolver
    let zones: ZoneFiles

    /// A stale answer is handed on for so long (RFC 8767 §4), in seconds.
    private static let staleTTL: UInt32 = 30

    /// What can be said without waiting; nil where an upstream must be asked.
    func known(_ name: DNSName, _ type: DNSType, _ subnet: IPNetwork?) -> ServerAnswer? {
        let finding = zones.set.lookUp(name, type)
        if let finding, finding.outside == nil { return finding.answer }
        guard let family = Self.family(type) else { return ServerAnswer(.notImplemented) }
        let target = finding?.outside ?? name
        guard let host = Self.host(target) else { return behind(finding, ServerAnswer(.noSuchName)) }
        let cached = resolver.current(host, families: Families(family), subnet: subnet)
        return cached.map { behind(finding, self.answer($0, target, family)) }
    }

    /// The answer, from an upstream where need be.
    func answer(_ name: DNSName, _ type: DNSType, _ subnet: IPNetwork?) async -> ServerAnswer {
        let finding = zones.set.lookUp(name, type)
        if let finding, finding.outside == nil { return finding.answer }
        // Other types than addresses are served from zones alone: what the upstreams' protocols can ask is addresses.
        guard let family = Self.family(type) else { return ServerAnswer(.notImplemented) }
        let target = finding?.outside ?? name
        guard let host = Self.host(target) else { return behind(finding, ServerAnswer(.noSuchName)) }
        do throws(ResolutionError) {
            let resolution = try await resolver.resolve(host, families: Families(family), subnet: subnet)
            return behind(finding, self.answer(resolution, target, family))
        } catch {
            switch error.code {
            case .noSuchName: return behind(finding, ServerAnswer(.noSuchName, source: "upstream"))
            case .noAddress: return behind(finding, ServerAnswer(.noError, source: "upstream"))
            default: return ServerAnswer(.serverFailure, source: error.code.description)
            }
        }
    }

    /// Answers for several families of a host; what cannot be answered has an error's code.
    func answers(_ name: DNSName, _ families: Families, _ subnet: IPNetwork?) async -> HostAnswer {
        async let v4 = families.contains(.v4) ? answer(name, .a, subnet) : nil
        async let v6 = families.contains(.v6) ? answer(name, .aaaa, subnet) : nil
        return await HostAnswer(name: name, v4: v4, v6: v6)
    }

    /// Names of one question that are looked up at the same time.
    private static let batchWidth = 8

    /// Answers for several hosts, in their order. They are looked up together: the slowest one is what the client waits for.
    func answers(_ names: [DNSName], _ families: Families, _ subnet: IPNetwork?) async -> [HostAnswer] {
        if names.count == 1 { return [await answers(names[0], families, subnet)] }
        return await withTaskGroup(of: (place: Int, answer: HostAnswer).self) { group in
            var found: [(place: Int, answer: HostAnswer)] = []
            for (place, name) in names.enumerated() {
                if place >= Self.batchWidth, let one = await group.next() { found.append(one) }
                group.addTask { (place, await answers(name, families, subnet)) }
            }
            for await one in group { found.append(one) }
            return found.sorted { $0.place < $1.place }.map(\.answer)
        }
    }

    private func behind(_ finding: ZoneSet.Finding?, _ answer: ServerAnswer) -> ServerAnswer {
        guard let finding else { return answer }
        var answer = answer
        answer.answers = finding.answer.answers + answer.answers
        return answer
    }

    private func answer(_ resolution: Resolution, _ name: DNSName, _ family: IPAddress.Family) -> ServerAnswer {
        // To the nearest second: what was said a moment ago has the TTL that was said.
        let seconds = (resolution.ttl + .milliseconds(500)).components.seconds
        let ttl =
            resolution.source == .stale
            ? Self.staleTTL : UInt32(min(max(seconds, 0), Int64(resolution.source == .literal ? 3_600 : Int32.max)))
        var answer = ServerAnswer()
        answer.source = resolution.source.description
        answer.answers = said(resolution.addresses, family).map { DNSRecord(name, ttl: ttl, .address($0)) }
        return answer
    }

    /// The addresses as the upstream said them: in a network without IPv4 the resolver gives us those that stand for them here
    /// (RFC 6052), which are of no use to those who ask.
    private func said(_ addresses: [IPAddress], _ family: IPAddress.Family) -> [IPAddress] {
        guard addresses.contains(where: { $0.family != family }) else { return addresses }
        let prefixes = resolver.network.nat64
        var said: [IPAddress] = []
        for address in addresses {
            let original = address.family == family ? address : prefixes.lazy.compactMap { $0.extract(address) }.first
            if let original, original.family == family, !said.contains(original) { said.append(original) }
        }
        return said
    }

    private static func family(_ type: DNSType) -> IPAddress.Family? {
        type == .a ? .v4 : type == .aaaa ? .v6 : nil
    }

    /// The host of a name; nil for what is none, such as an address or `_tcp.example.com` with a stray octet.
    private static func host(_ name: DNSName) -> Host? {
        guard let host = try? Host(name.description), host.address == nil else { return nil }
        return host
    }
}

/// What is answered for the addresses of a host.
struct HostAnswer: Sendable {
    let name: DNSName
    /// nil: not asked for.
    let v4: ServerAnswer?
    let v6: ServerAnswer?

    subscript(family: IPAddress.Family) -> ServerAnswer? { family == .v4 ? v4 : v6 }

    /// Whether an upstream failed, and there is no address beside it. "No address" would be a guess then.
    var isFailure: Bool { hasFailure && [v4, v6].allSatisfy { $0?.addresses.isEmpty ?? true } }

    /// Whether every part failed.
    var saysNothing: Bool { [v4, v6].allSatisfy { $0?.isFailure ?? true } }

    /// Whether a part of it could not be looked up.
    var hasFailure: Bool { [v4, v6].contains { $0?.isFailure ?? false } }

    /// Whether there is no such name.
    var isNoName: Bool { [v4, v6].contains { $0?.code == .noSuchName } }

    /// The smaller TTL of the families that have addresses, else that of their absence.
    var ttl: UInt32 {
        let parts = [v4, v6].compactMap(\.self)
        return parts.filter { !$0.addresses.isEmpty }.map(ttl(of:)).min() ?? parts.map(\.ttl).min() ?? 0
    }

    /// The TTL of a part. Forms that cannot say that the other part failed must not have its absence kept for long.
    func ttl(of part: ServerAnswer) -> UInt32 { hasFailure ? min(part.ttl, ServerAnswer.negativeTTL) : part.ttl }

    var source: String { (v4 ?? v6)?.source ?? "-" }
}
