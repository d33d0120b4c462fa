// SPDX-License-Identifier: Apache-2.0

import HTTPDNS

/// The counters of the server, for `/metrics`.
struct ServerCounters {
    /// What became of a request. Few values, because each has its own histogram.
    enum Outcome: Int, CaseIterable {
        /// The records, or that there are none.
        case answer
        case noSuchName
        /// The server or its upstreams failed.
        case failure
        /// The client exceeded a limit.
        case limited
        /// The request is malformed or not permitted.
        case refused

        init(status: Int, code: String) {
            switch (status, code) {
            case (429, _): self = .limited
            case (500..., _), (_, "SERVFAIL"): self = .failure
            case (400..., _): self = .refused
            case (_, "NOERROR"), (_, "-"): self = .answer
            case (_, "NXDOMAIN"): self = .noSuchName
            default: self = .refused
            }
        }

        var label: String {
            switch self {
            case .answer: "answer"
            case .noSuchName: "no_such_name"
            case .failure: "failure"
            case .limited: "limited"
            case .refused: "refused"
            }
        }
    }

    /// Questions by form and HTTP status. Both sets are small, so the size is bounded.
    private var questions: [AccessRecord.Form: [Int: Int]] = [:]
    /// One histogram for each form and outcome. An array, because each question adds to it.
    private var durations = [DurationHistogram](
        repeating: DurationHistogram(),
        count: AccessRecord.Form.allCases.count * Outcome.allCases.count
    )
    var limited = 0
    var connections = ConnectionCounts()
    var reloadFailures = 0

    mutating func add(_ form: AccessRecord.Form, status: Int, code: String, duration: Duration) {
        questions[form, default: [:]][status, default: 0] += 1
        durations[Self.index(form, Outcome(status: status, code: code))].record(duration)
    }

    private static func index(_ form: AccessRecord.Form, _ outcome: Outcome) -> Int {
        let number =
            switch form {
            case .doh: 0
            case .json: 1
            case .dnspod: 2
            case .aliyun: 3
            case .aliyun2: 4
            case .udp: 5
            case .tcp: 6
            case .dot: 7
            case .other: 8
            }
        return number * Outcome.allCases.count + outcome.rawValue
    }

    /// The metrics in the text format of Prometheus.
    func text(_ lookups: LookupReport, isReady: Bool) -> String {
        var text = PrometheusText()
        let counts = questions.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap { form, codes in
            codes.sorted { $0.key < $1.key }.map {
                (labels: [("form", form.rawValue), ("status", "\($0.key)")] as PrometheusText.Labels, value: $0.value)
            }
        }
        text.write("server_questions_total", type: "counter", help: "Questions that were answered.", samples: counts)
        text.histograms(
            "server_answer_seconds",
            help: "From a question's last octet to its reply.",
            samples: AccessRecord.Form.allCases.flatMap { form in
                Outcome.allCases.map { outcome in
                    ([("form", form.rawValue), ("outcome", outcome.label)], durations[Self.index(form, outcome)])
                }
            }.filter { $0.1.count > 0 }
        )
        text.counter("server_limited_total", limited, help: "Questions above a client's limit.")
        text.counter("server_connections_total", connections.accepted, help: "Connections accepted.")
        text.gauge("server_connections_open", connections.open, help: "Connections now.")
        text.counter("server_connections_refused_total", connections.refused, help: "Connections above the limit.")
        text.counter("server_reload_failures_total", reloadFailures, help: "Files that could not be read again.")
        text.gauge("server_ready", isReady ? 1 : 0, help: "Whether /ready answers 200.")
        lookups.write(to: &text)
        return text.text
    }
}
