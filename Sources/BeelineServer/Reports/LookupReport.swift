// SPDX-License-Identifier: Apache-2.0

import HTTPDNS

/// What a server reports about its resolvers and zones, for `/metrics`.
struct LookupReport: Sendable {
    private var cache = CacheCounts()
    private var cachedNames = 0
    /// The number of names with records in zone files.
    var zoneNames = 0
    /// The response times of upstreams for addresses, and for messages with other records.
    private var addressTimes: [(name: String, times: UpstreamTimes)] = []
    private var messageTimes: [(name: String, times: UpstreamTimes)] = []

    init(zoneNames: Int = 0) { self.zoneNames = zoneNames }

    mutating func add(_ resolver: Resolver, _ forwarder: MessageForwarder) {
        cache.add(resolver.counts)
        cachedNames += resolver.cachedNames
        addressTimes += resolver.upstreamTimes
        messageTimes += forwarder.upstreamTimes
    }

    /// Writes the values in the text format of Prometheus.
    func write(to text: inout PrometheusText) {
        text.lookups(cache, cachedNames: cachedNames)
        text.upstreams(addresses: addressTimes, messages: messageTimes)
        text.gauge("server_zone_names", zoneNames, help: "Names with records in zone files.")
    }
}
