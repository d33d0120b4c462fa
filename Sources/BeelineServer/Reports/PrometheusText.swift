// SPDX-License-Identifier: Apache-2.0

import HTTPDNS

/// Writes metrics in the text format of Prometheus, version 0.0.4.
struct PrometheusText {
    /// The labels of a sample, in the order in which they are written.
    typealias Labels = [(name: String, value: String)]

    private(set) var text = ""

    mutating func counter(_ name: String, _ value: Int, help: String) {
        write(name, type: "counter", help: help, samples: [([], value)])
    }

    mutating func gauge(_ name: String, _ value: Int, help: String) {
        write(name, type: "gauge", help: help, samples: [([], value)])
    }

    /// Writes a metric. Without samples, nothing is written.
    mutating func write(_ name: String, type: String, help: String, samples: [(labels: Labels, value: Int)]) {
        guard !samples.isEmpty else { return }
        begin(name, type: type, help: help)
        for (labels, value) in samples { sample(name, labels, value: "\(value)") }
    }

    mutating func histograms(
        _ name: String,
        help: String,
        samples histograms: [(labels: Labels, value: DurationHistogram)]
    ) {
        guard !histograms.isEmpty else { return }
        begin(name, type: "histogram", help: help)
        for (labels, histogram) in histograms {
            // Each bucket includes the smaller ones.
            var sum = 0
            for (bound, count) in zip(DurationHistogram.bounds, histogram.buckets) {
                sum += count
                sample(name + "_bucket", labels + [("le", "\(bound)")], value: "\(sum)")
            }
            sample(name + "_bucket", labels + [("le", "+Inf")], value: "\(histogram.count)")
            sample(name + "_sum", labels, value: "\(histogram.seconds)")
            sample(name + "_count", labels, value: "\(histogram.count)")
        }
    }

    /// Writes the metrics of the caches of resolvers.
    mutating func lookups(_ counts: CacheCounts, cachedNames: Int) {
        let found = [
            ("cached", counts.cached), ("stale", counts.stale), ("absent", counts.absent), ("missed", counts.missed),
        ]
        write(
            "dns_lookups_total",
            type: "counter",
            help: "What lookups in the cache found.",
            samples: found.map { ([("found", $0.0)], $0.1) }
        )
        gauge("dns_cached_names", cachedNames, help: "Names in the cache.")
    }

    /// Writes the response times of upstreams for addresses, and for messages with other records.
    mutating func upstreams(
        addresses: [(name: String, times: UpstreamTimes)],
        messages: [(name: String, times: UpstreamTimes)]
    ) {
        histograms(
            "dns_upstream_seconds",
            help: "From a question to an upstream to its answer or failure.",
            samples: Self.samples(addresses, "addresses") + Self.samples(messages, "messages")
        )
    }

    private static func samples(
        _ upstreams: [(name: String, times: UpstreamTimes)],
        _ kind: String
    ) -> [(labels: Labels, value: DurationHistogram)] {
        // Upstreams may have the same name, in several resolvers too. A metric has each set of labels once.
        var sums: [String: UpstreamTimes] = [:]
        for (name, times) in upstreams { sums[name, default: UpstreamTimes()].add(times) }
        return sums.sorted { $0.key < $1.key }.flatMap { name, times in
            [("answer", times.answers), ("failure", times.failures)].map { outcome, histogram in
                ([("upstream", name), ("question", kind), ("outcome", outcome)], histogram)
            }
        }.filter { $0.1.count > 0 }
    }

    private mutating func begin(_ name: String, type: String, help: String) {
        text += "# HELP beeline_\(name) \(Self.escaped(help, quotes: false))\n# TYPE beeline_\(name) \(type)\n"
    }

    private mutating func sample(_ name: String, _ labels: Labels, value: String) {
        let pairs = labels.map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }
        text += "beeline_\(name)\(pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}") \(value)\n"
    }

    /// Escapes backslashes and line feeds, and in values of labels also quotation marks.
    static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
