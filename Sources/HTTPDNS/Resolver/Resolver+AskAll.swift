// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
public import Names

/// What one upstream said when all were asked.
public struct UpstreamReport: Sendable {
    /// The upstream's name.
    public let upstream: String
    /// Its answer, checked as for use, or why there is none.
    public let result: Result<Answer, UpstreamError>
    /// How long it took.
    public let time: Duration
}

extension Resolver {
    /// Asks every upstream of the configuration, and the system, past the cache; for tools that compare them.
    ///
    /// - Returns: What each said, in the order of the configuration, the system last.
    public func askAll(_ host: Host, families: Families? = nil, subnet: IPNetwork? = nil) async -> [UpstreamReport] {
        let families = families ?? configuration.families
        let count = configuration.upstreams.count + (configuration.system == nil ? 0 : 1)
        return await withTaskGroup(of: (Int, UpstreamReport).self) { group in
            for index in 0..<count {
                group.addTask { (index, await self.report(of: index, host, families, subnet)) }
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
        _ subnet: IPNetwork?
    ) async -> UpstreamReport {
        let begin = time.now()
        let upstream = upstream(index)
        // One that answers a family at a time answers both one after the other here, which tells more of its time.
        let question = Question(host, families: families, subnet: subnet)
        state.withLockedValue { $0.questionsSent += 1 }
        let result = await withinBudget { () async -> Result<Answer, UpstreamError> in
            do throws(UpstreamError) {
                return .success(try await self.checked(question, index, false))
            } catch {
                return .failure(error)
            }
        }
        let late = UpstreamError(.timeLimit, "no answer within \(configuration.upstreamBudget)")
        return UpstreamReport(upstream: upstream.name, result: result ?? .failure(late), time: time.now() - begin)
    }
}
