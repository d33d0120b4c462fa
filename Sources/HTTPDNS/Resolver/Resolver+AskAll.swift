// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
public import Names

/// What one upstream said when all were asked.
public struct UpstreamReport: Sendable {
    /// The upstream's name.
    public let upstream: String
    /// What kind of upstream it is.
    public let kind: UpstreamKind
    /// Its answer, checked as for use, or why there is none.
    public let result: Result<Answer, UpstreamError>
    /// How long it took.
    public let time: Duration
}

extension Resolver {
    /// Asks every upstream of the configuration past the cache, whatever the switch and the canary say; for tools that compare
    /// them. Names that are not for the upstreams (``NamePolicy``) are kept from services here too: only tables and the system
    /// are asked, the latter whatever `system` says.
    ///
    /// - Parameters:
    ///   - host: A name.
    ///   - families: The families wanted; nil: those of the configuration.
    ///   - subnet: For whose network the answer is wanted (RFC 7871); nil: our own.
    ///   - system: Whether ``ResolverConfiguration/system`` is asked too, unless it is one of the upstreams anyway.
    /// - Returns: What each said that was asked, in the order of the configuration, the system last.
    public func askAll(
        _ host: Host,
        families: Families? = nil,
        subnet: IPNetwork? = nil,
        system: Bool = true
    ) async -> [UpstreamReport] {
        let families = families ?? configuration.families
        let upstreams = configuration.upstreams
        var policy = state.withLockedValue { $0.policy }
        policy.canary = nil
        let isForUpstreams = policy.isForUpstreams(host)
        let asksSystem =
            (system || !isForUpstreams) && configuration.system != nil && !upstreams.contains { $0.kind == .system }
        return await withTaskGroup(of: (Int, UpstreamReport).self) { group in
            for index in 0..<(upstreams.count + (asksSystem ? 1 : 0))
            where isForUpstreams || upstream(index).kind != .service {
                group.addTask { (index, await self.report(of: index, host, families, subnet, trusts: !isForUpstreams)) }
            }
            var reports: [(Int, UpstreamReport)] = []
            for await report in group { reports.append(report) }
            return reports.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func report(
        of index: Int,
        _ host: Host,
        _ families: Families,
        _ subnet: IPNetwork?,
        trusts isTrusted: Bool
    ) async -> UpstreamReport {
        let begin = time.now()
        let upstream = upstream(index)
        // One that answers a family at a time answers both one after the other here, which tells more of its time.
        let question = Question(host, families: families, subnet: subnet)
        state.withLockedValue { $0.questionsSent += 1 }
        let result = await withinBudget { () async -> Result<Answer, UpstreamError> in
            do throws(UpstreamError) {
                return .success(try await self.checked(question, index, isTrusted))
            } catch {
                return .failure(error)
            }
        }
        let late = UpstreamError(.timeLimit, "no answer within \(configuration.upstreamBudget)")
        return UpstreamReport(
            upstream: upstream.name,
            kind: upstream.kind,
            result: result ?? .failure(late),
            time: time.now() - begin
        )
    }
}
