// SPDX-License-Identifier: Apache-2.0

public import CoreMetrics

/// Counters and timers of a resolver, recorded through swift-metrics. The library sends no metrics itself.
///
/// | name | kind | dimensions |
/// | --- | --- | --- |
/// | `beeline_dns_questions` | counter | `upstream`, `outcome`: `answer`, `shared`, or the code of ``UpstreamError`` |
/// | `beeline_dns_answer_time` | timer | `upstream` |
/// | `beeline_dns_lookups` | counter | `found`: `cached`, `stale`, `absent`, `missed` |
public struct ResolverMetrics: Sendable {
    private let factory: any MetricsFactory

    /// Metrics that are recorded with a factory. Default: the factory that the process was bootstrapped with.
    public init(factory: any MetricsFactory = MetricsSystem.factory) {
        self.factory = factory
    }

    func answered(by upstream: String, with result: Result<Answer, UpstreamError>, after time: Duration) {
        switch result {
        case .success:
            let timer = Timer(
                label: "beeline_dns_answer_time",
                dimensions: [("upstream", upstream)],
                factory: factory
            )
            timer.recordNanoseconds(time.nanoseconds)
            count(upstream, outcome: "answer")
        case .failure(let error): count(upstream, outcome: error.code.description)
        }
    }

    /// Counts an answer from another resolver; see ``SharedAnswers``.
    func shared(_ upstream: String) { count(upstream, outcome: "shared") }

    private func count(_ upstream: String, outcome: String) {
        Counter(
            label: "beeline_dns_questions",
            dimensions: [("upstream", upstream), ("outcome", outcome)],
            factory: factory
        ).increment()
    }

    /// Adds the lookups since the last call.
    func found(_ counts: CacheCounts, since last: CacheCounts) {
        let changes = [
            ("cached", counts.cached - last.cached), ("stale", counts.stale - last.stale),
            ("absent", counts.absent - last.absent), ("missed", counts.missed - last.missed),
        ]
        for (name, change) in changes where change > 0 {
            Counter(label: "beeline_dns_lookups", dimensions: [("found", name)], factory: factory)
                .increment(by: change)
        }
    }
}
