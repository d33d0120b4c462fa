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
        text.lookups(cache, cachedNames: cachedNames)
        text.upstreams(addresses: addressTimes, messages: messageTimes)
        text.gauge("server_zone_names", zoneNames, help: "Names with records in zone files.")
    }
}
