// SPDX-License-Identifier: Apache-2.0

import HTTPDNS

/// The counters of the server, for `/metrics`.
struct ServerCounters {
    /// Upper bounds of the histogram's buckets, in seconds.
    private static let bounds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5]

    /// Questions by form and HTTP status. Both sets are small, so the size is bounded.
    private var questions: [AccessRecord.Form: [Int: Int]] = [:]
    private var buckets = [Int](repeating: 0, count: bounds.count)
    private var seconds = 0.0
    private var answered = 0
    var limited = 0
    var connections = 0
    var connectionsOpen = 0
    var connectionsRefused = 0
    var reloadFailures = 0

    mutating func add(_ form: AccessRecord.Form, status: Int, duration: Duration) {
        questions[form, default: [:]][status, default: 0] += 1
        let (whole, atto) = duration.components
        let time = Double(whole) + Double(atto) / 1e18
        seconds += time
        answered += 1
        if let index = Self.bounds.firstIndex(where: { time <= $0 }) { buckets[index] += 1 }
    }

    /// The metrics in the text format of Prometheus, version 0.0.4.
    func text(cache: CacheCounts, cachedNames: Int, zoneNames: Int) -> String {
        var text = ""
        func writeFamily(_ name: String, type: String, help: String, samples: [(String, String)]) {
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
            for (labels, value) in samples { text += "\(name)\(labels) \(value)\n" }
        }
        let counts = questions.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap { form, codes in
            codes.sorted { $0.key < $1.key }.map { ("{form=\"\(form.rawValue)\",status=\"\($0.key)\"}", "\($0.value)") }
        }
        writeFamily(
            "beeline_server_questions_total",
            type: "counter",
            help: "Questions that were answered.",
            samples: counts
        )
        var sum = 0
        text += "# HELP beeline_server_answer_seconds From a question's last octet to its reply.\n"
        text += "# TYPE beeline_server_answer_seconds histogram\n"
        for (bound, count) in zip(Self.bounds, buckets) {
            sum += count
            text += "beeline_server_answer_seconds_bucket{le=\"\(bound)\"} \(sum)\n"
        }
        text += "beeline_server_answer_seconds_bucket{le=\"+Inf\"} \(answered)\n"
        text += "beeline_server_answer_seconds_sum \(seconds)\nbeeline_server_answer_seconds_count \(answered)\n"
        writeFamily(
            "beeline_server_limited_total",
            type: "counter",
            help: "Questions above a client's limit.",
            samples: [("", "\(limited)")]
        )
        writeFamily(
            "beeline_server_connections_total",
            type: "counter",
            help: "Connections accepted.",
            samples: [("", "\(connections)")]
        )
        writeFamily(
            "beeline_server_connections_open",
            type: "gauge",
            help: "Connections now.",
            samples: [("", "\(connectionsOpen)")]
        )
        writeFamily(
            "beeline_server_connections_refused_total",
            type: "counter",
            help: "Connections above the limit.",
            samples: [("", "\(connectionsRefused)")]
        )
        writeFamily(
            "beeline_server_reload_failures_total",
            type: "counter",
            help: "Files that could not be read again.",
            samples: [("", "\(reloadFailures)")]
        )
        let found = [
            ("cached", cache.cached), ("stale", cache.stale), ("absent", cache.absent), ("missed", cache.missed),
        ]
        let lookups = found.map { ("{found=\"\($0.0)\"}", "\($0.1)") }
        writeFamily(
            "beeline_dns_lookups_total",
            type: "counter",
            help: "What lookups in the cache found.",
            samples: lookups
        )
        writeFamily(
            "beeline_dns_cached_names",
            type: "gauge",
            help: "Names in the cache.",
            samples: [("", "\(cachedNames)")]
        )
        writeFamily(
            "beeline_server_zone_names",
            type: "gauge",
            help: "Names with records in zone files.",
            samples: [("", "\(zoneNames)")]
        )
        return text
    }
}
