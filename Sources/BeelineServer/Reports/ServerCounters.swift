// SPDX-License-Identifier: Apache-2.0

import HTTPDNS

/// The counters of the server, for `/metrics`.
struct ServerCounters {
    /// Questions by form and HTTP status. Both sets are small, so the size is bounded.
    private var questions: [AccessRecord.Form: [Int: Int]] = [:]
    private var times = TimeHistogram()
    var limited = 0
    var connections = 0
    var connectionsOpen = 0
    var connectionsRefused = 0
    var reloadFailures = 0

    mutating func add(_ form: AccessRecord.Form, status: Int, duration: Duration) {
        questions[form, default: [:]][status, default: 0] += 1
        times.add(duration)
    }

    /// The metrics in the text format of Prometheus, version 0.0.4.
    func text(cache: CacheCounts, cachedNames: Int, zoneNames: Int) -> String {
        var text = MetricText()
        let counts = questions.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap { form, codes in
            codes.sorted { $0.key < $1.key }.map { ("{form=\"\(form.rawValue)\",status=\"\($0.key)\"}", $0.value) }
        }
        text.add("server_questions_total", type: "counter", help: "Questions that were answered.", samples: counts)
        text.addHistogram("server_answer_seconds", times, help: "From a question's last octet to its reply.")
        text.addCounter("server_limited_total", limited, help: "Questions above a client's limit.")
        text.addCounter("server_connections_total", connections, help: "Connections accepted.")
        text.addGauge("server_connections_open", connectionsOpen, help: "Connections now.")
        text.addCounter("server_connections_refused_total", connectionsRefused, help: "Connections above the limit.")
        text.addCounter("server_reload_failures_total", reloadFailures, help: "Files that could not be read again.")
        text.addLookups(cache, cachedNames: cachedNames)
        text.addGauge("server_zone_names", zoneNames, help: "Names with records in zone files.")
        return text.text
    }
}
