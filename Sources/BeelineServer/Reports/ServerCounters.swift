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

    mutating func add(_ form: AccessRecord.Form, _ status: Int, _ duration: Duration) {
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
        func family(_ name: String, _ type: String, _ help: String, _ samples: [(String, String)]) {
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
            for (labels, value) in samples { text += "\(name)\(labels) \(value)\n" }
        }
        let counts = questions.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap { form, codes in
            codes.sorted { $0.key < $1.key }.map { ("{form=\"\(form.rawValue)\",status=\"\($0.key)\"}", "\($0.value)") }
        }
        family("beeline_server_questions_total", "counter", "Questions that were answered.", counts)
        var sum = 0
        text += "# HELP beeline_server_answer_seconds From a question's last octet to its reply.\n"
        text += "# TYPE beeline_server_answer_seconds histogram\n"
        for (bound, count) in zip(Self.bounds, buckets) {
            sum += count
            text += "beeline_server_answer_seconds_bucket{le=\"\(bound)\"} \(sum)\n"
        }
        text += "beeline_server_answer_seconds_bucket{le=\"+Inf\"} \(answered)\n"
        text += "beeline_server_answer_seconds_sum \(seconds)\nbeeline_server_answer_seconds_count \(answered)\n"
        family("beeline_server_limited_total", "counter", "Questions above a client's limit.", [("", "\(limited)")])
        family("beeline_server_connections_total", "counter", "Connections accepted.", [("", "\(connections)")])
        family("beeline_server_connections_open", "gauge", "Connections now.", [("", "\(connectionsOpen)")])
        family(
            "beeline_server_connections_refused_total",
            "counter",
            "Connections above the limit.",
            [("", "\(connectionsRefused)")]
        )
        family(
            "beeline_server_reload_failures_total",
            "counter",
            "Files that could not be read again.",
            [("", "\(reloadFailures)")]
        )
        let found = [
            ("cached", cache.cached), ("stale", cache.stale), ("absent", cache.absent), ("missed", cache.missed),
        ]
        let lookUps = found.map { ("{found=\"\($0.0)\"}", "\($0.1)") }
        family("beeline_dns_lookups_total", "counter", "What lookups in the cache found.", lookUps)
        family("beeline_dns_cached_names", "gauge", "Names in the cache.", [("", "\(cachedNames)")])
        family("beeline_server_zone_names", "gauge", "Names with records in zone files.", [("", "\(zoneNames)")])
        return text
    }
}
