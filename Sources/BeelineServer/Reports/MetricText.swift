// SPDX-License-Identifier: Apache-2.0

import HTTPDNS

/// Metrics in the text format of Prometheus, version 0.0.4.
struct MetricText {
    private(set) var text = ""

    /// Adds the samples of a metric.
    mutating func add(_ name: String, type: String, help: String, samples: [(labels: String, value: Int)]) {
        text += "# HELP beeline_\(name) \(help)\n# TYPE beeline_\(name) \(type)\n"
        for (labels, value) in samples { text += "beeline_\(name)\(labels) \(value)\n" }
    }

    mutating func addCounter(_ name: String, _ value: Int, help: String) {
        add(name, type: "counter", help: help, samples: [("", value)])
    }

    mutating func addGauge(_ name: String, _ value: Int, help: String) {
        add(name, type: "gauge", help: help, samples: [("", value)])
    }

    mutating func addHistogram(_ name: String, _ times: TimeHistogram, help: String) {
        let buckets = times.cumulative.map { ("_bucket{le=\"\($0.bound)\"}", $0.count) }
        let whole = [("_bucket{le=\"+Inf\"}", times.count), ("_count", times.count)]
        add(name, type: "histogram", help: help, samples: buckets + whole)
        text += "beeline_\(name)_sum \(times.seconds)\n"
    }

    /// Adds the metrics of the caches of resolvers.
    mutating func addLookups(_ counts: CacheCounts, cachedNames: Int) {
        let found = [
            ("cached", counts.cached), ("stale", counts.stale), ("absent", counts.absent), ("missed", counts.missed),
        ]
        let samples = found.map { ("{found=\"\($0.0)\"}", $0.1) }
        add("dns_lookups_total", type: "counter", help: "What lookups in the cache found.", samples: samples)
        addGauge("dns_cached_names", cachedNames, help: "Names in the cache.")
    }
}
