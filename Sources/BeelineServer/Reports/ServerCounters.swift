// SPDX-License-Identifier: Apache-2.0

import HTTPDNS

/// The counters of the server, for `/metrics`.
struct ServerCounters {
    /// What became of a request. Few values, because each has its own histogram.
    enum Outcome: CaseIterable {
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

    private struct Questions {
        /// By HTTP status. The server uses few, so the size is bounded.
        var statuses: [Int: Int] = [:]
        var durations: [Outcome: DurationHistogram] = [:]

        mutating func add(status: Int, code: String, duration: Duration) {
            statuses[status, default: 0] += 1
            durations[Outcome(status: status, code: code), default: DurationHistogram()].record(duration)
        }
    }

    private var questions: [AccessRecord.Form: Questions] = [:]
    var limited = 0
    var connections = ConnectionCounts()
    var reloadFailures = 0

    mutating func add(_ form: AccessRecord.Form, status: Int, code: String, duration: Duration) {
        questions[form, default: Questions()].add(status: status, code: code, duration: duration)
    }

    /// The metrics in the text format of Prometheus.
    func text(_ lookups: LookupReport, isReady: Bool) -> String {
        var text = PrometheusText()
        let counts = questions.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap { form, questions in
            questions.statuses.sorted { $0.key < $1.key }.map {
                (labels: [("form", form.rawValue), ("status", "\($0.key)")] as PrometheusText.Labels, value: $0.value)
            }
        }
        text.write("server_questions_total", type: "counter", help: "Questions that were answered.", samples: counts)
        text.histograms(
            "server_answer_seconds",
            help: "From a question's last octet to its reply.",
            samples: AccessRecord.Form.allCases.flatMap { form in
                Outcome.allCases.compactMap { outcome in
                    questions[form]?.durations[outcome].map {
                        ([("form", form.rawValue), ("outcome", outcome.label)], $0)
                    }
                }
            }
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
