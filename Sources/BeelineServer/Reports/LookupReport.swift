// SPDX-License-Identifier: Apache-2.0

import HTTPDNS

/// What a server reports about its resolvers, zones and lists, for `/metrics`.
struct LookupReport: Sendable {
    private var cache = CacheCounts()
    private var cachedNames = 0
    private(set) var cachedMessages = 0
    private(set) var upstreamQuestions = 0
    /// The number of names with records in zone files.
    private let zoneNames: Int
    /// The number of names and domains in lists.
    let listNames: Int
    /// The response times of upstreams for addresses, and for messages with other records.
    private var addressTimes: [(name: String, times: UpstreamTimes)] = []
    private var messageTimes: [(name: String, times: UpstreamTimes)] = []

    init(_ backends: [NameBackend], zones: ZoneFiles, lists: ListFiles? = nil) {
        zoneNames = zones.set.count
        listNames = lists?.rules?.count ?? 0
        for backend in backends {
            let (resolver, forwarder) = (backend.resolver, backend.forwarder)
            cache.add(resolver.counts)
            cachedNames += resolver.cachedNames
            cachedMessages += forwarder.count
            upstreamQuestions += resolver.questionsSent + forwarder.questionsSent
            addressTimes += resolver.upstreamTimes
            messageTimes += forwarder.upstreamTimes
        }
    }

    /// Writes the values that all servers report in the text format of Prometheus.
    func write(to text: inout PrometheusText) {
        let found = [
            ("cached", cache.cached), ("stale", cache.stale), ("absent", cache.absent), ("missed", cache.missed),
        ]
        text.write(
            "dns_lookups_total",
            type: "counter",
            help: "What lookups in the cache found.",
            samples: found.map { ([("found", $0.0)], $0.1) }
        )
        text.gauge("dns_cached_names", cachedNames, help: "Names in the cache.")
        text.histograms(
            "dns_upstream_seconds",
            help: "From a question to an upstream to its answer or failure.",
            samples: Self.samples(addressTimes, question: "addresses")
                + Self.samples(messageTimes, question: "messages")
        )
        text.gauge("server_zone_names", zoneNames, help: "Names with records in zone files.")
    }

    static func samples(
        _ upstreams: [(name: String, times: UpstreamTimes)],
        question: String
    ) -> [(labels: PrometheusText.Labels, value: DurationHistogram)] {
        // Upstreams may have the same name, in several resolvers too. A metric has each set of labels once.
        var sums: [String: UpstreamTimes] = [:]
        for (name, times) in upstreams { sums[name, default: UpstreamTimes()].add(times) }
        return sums.sorted { $0.key < $1.key }.flatMap { name, times in
            [("answer", times.answers), ("failure", times.failures)].map { outcome, histogram in
                ([("upstream", name), ("question", question), ("outcome", outcome)], histogram)
            }
        }.filter { $0.1.count > 0 }
    }
}
