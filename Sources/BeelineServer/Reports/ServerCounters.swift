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
        func write(_ name: String, type: String, help: String, samples: [(labels: String, value: Int)]) {
            text += "# HELP beeline_\(name) \(help)\n# TYPE beeline_\(name) \(type)\n"
            for (labels, value) in samples { text += "beeline_\(name)\(labels) \(value)\n" }
        }
        func count(_ name: String, _ value: Int, help: String) {
            write(name, type: "counter", help: help, samples: [("", value)])
        }
        func gauge(_ name: String, _ value: Int, help: String) {
            write(name, type: "gauge", help: help, samples: [("", value)])
        }
        let counts = questions.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap { form, codes in
            codes.sorted { $0.key < $1.key }.map { ("{form=\"\(form.rawValue)\",status=\"\($0.key)\"}", $0.value) }
        }
        write("server_questions_total", type: "counter", help: "Questions that were answered.", samples: counts)
        var sum = 0
        let times = zip(Self.bounds, buckets).map { bound, count in
            sum += count
            return ("_bucket{le=\"\(bound)\"}", sum)
        }
        let whole = [("_bucket{le=\"+Inf\"}", answered), ("_count", answered)]
        let meaning = "From a question's last octet to its reply."
        write("server_answer_seconds", type: "histogram", help: meaning, samples: times + whole)
        text += "beeline_server_answer_seconds_sum \(seconds)\n"
        count("server_limited_total", limited, help: "Questions above a client's limit.")
        count("server_connections_total", connections, help: "Connections accepted.")
        gauge("server_connections_open", connectionsOpen, help: "Connections now.")
        count("server_connections_refused_total", connectionsRefused, help: "Connections above the limit.")
        count("server_reload_failures_total", reloadFailures, help: "Files that could not be read again.")
        let found = [
            ("cached", cache.cached), ("stale", cache.stale), ("absent", cache.absent), ("missed", cache.missed),
        ]
        let lookups = found.map { ("{found=\"\($0.0)\"}", $0.1) }
        write("dns_lookups_total", type: "counter", help: "What lookups in the cache found.", samples: lookups)
        gauge("dns_cached_names", cachedNames, help: "Names in the cache.")
        gauge("server_zone_names", zoneNames, help: "Names with records in zone files.")
        return text
    }
}
