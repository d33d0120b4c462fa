// SPDX-License-Identifier: Apache-2.0

public import Names

/// The result of one upstream in ``Resolver/askAll(_:families:subnet:system:)``.
public struct UpstreamReport: Sendable {
    /// The upstream's name.
    public let upstream: String
    /// The kind of upstream.
    public let kind: UpstreamKind
    /// The checked answer, or the error.
    public let result: Result<Answer, UpstreamError>
    /// The time from the question to the result.
    public let time: Duration
}

extension Resolver {
    /// Asks every configured upstream and bypasses the cache, the switch and the canary; for tools that compare
    /// upstreams.
    ///
    /// Names that are not for the upstreams (``NamePolicy``) are still kept from services: only tables and the system
    /// are asked, and the system even if `system` is false. For a name of Tor (`.onion`), only tables are asked.
    ///
    /// - Parameters:
    ///   - host: The name to resolve.
    ///   - families: The families to ask for; nil: those of the configuration.
    ///   - subnet: The network to resolve for (RFC 7871); nil: the client's own.
    ///   - system: Whether ``ResolverConfiguration/system`` is asked too, unless the upstreams already include it.
    /// - Returns: The result of each upstream, in the order of the configuration, the system last.
    public func askAll(
        _ host: Host,
        families: Families? = nil,
        subnet: IPNetwork? = nil,
        system: Bool = true
    ) async -> [UpstreamReport] {
        // An upstream that answers one family per question is asked for both in turn here, so that the time covers
        // both.
        let question = Question(host, families: families ?? configuration.families, subnet: subnet)
        let configured = configuration.upstreams
        let isForUpstreams = !isKeptFromUpstreams(host)
        let isOnion = NamePolicy.isOnion(host)
        let asksSystem =
            (system || !isForUpstreams) && !isOnion && configuration.system != nil
            && !configured.contains { $0.kind == .system }
        let isAsked = { (kind: UpstreamKind) in kind == .fixed || isForUpstreams || kind == .system && !isOnion }
        return await withTaskGroup(of: (Int, UpstreamReport).self) { group in
            for index in 0..<(configured.count + (asksSystem ? 1 : 0)) where isAsked(upstreams[index].kind) {
                group.addTask { (index, await self.report(of: index, to: question, isTrusted: !isForUpstreams)) }
            }
            var reports: [(Int, UpstreamReport)] = []
            for await report in group { reports.append(report) }
            return reports.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func report(of index: Int, to question: Question, isTrusted: Bool) async -> UpstreamReport {
        let begin = time.now()
        let upstream = upstreams[index]
        guard questionBegins() else {
            let error = UpstreamError(.cancelled, "the resolver was shut down")
            return UpstreamReport(upstream: upstream.name, kind: upstream.kind, result: .failure(error), time: .zero)
        }
        defer { questionEnded() }
        let result = await withinBudget {
            await self.checkedAnswer(to: question, from: index, isTrusted: isTrusted)
        }
        let late = UpstreamError(.timeLimit, "no answer within \(configuration.limits.upstream)")
        return UpstreamReport(
            upstream: upstream.name,
            kind: upstream.kind,
            result: result ?? .failure(late),
            time: time.now() - begin
        )
    }
}
