// SPDX-License-Identifier: Apache-2.0

import HTTPDNS

/// The counters of a ``DNSServer``, for `/metrics`.
struct DNSCounters: Sendable {
    /// Questions by transport and response code. 24 response codes are in use.
    private var questions: [DNSService.Transport: [UInt8: Int]] = [:]
    /// The times of questions that were not answered with an encoded reply.
    private var times = DurationHistogram()
    /// Questions that were answered with an encoded reply.
    private var memos = 0
    var limited = 0
    /// Questions that were not looked up because too many waited for upstreams.
    var busy = 0
    /// Replies over UDP that the socket could not take.
    var dropped = 0
    var reloadFailures = 0

    /// - Parameter time: From the question to the reply; nil for a question that an encoded reply answered.
    mutating func add(_ transport: DNSService.Transport, _ code: DNSResponseCode, time: Duration?) {
        questions[transport, default: [:]][code.rawValue, default: 0] += 1
        if let time { times.record(time) } else { memos += 1 }
    }

    /// The metrics in the text format of Prometheus, version 0.0.4.
    func text(_ lookups: LookupReport, waiting: Int, connections: ConnectionCounts) -> String {
        var text = PrometheusText()
        let counts = questions.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap { transport, codes in
            codes.sorted { $0.key < $1.key }.map { code, count in
                (
                    labels: [("form", transport.form.rawValue), ("code", "\(DNSResponseCode(rawValue: code))")]
                        as PrometheusText.Labels, value: count
                )
            }
        }
        text.write("server_questions_total", type: "counter", help: "Questions that were answered.", samples: counts)
        text.counter(
            "server_repeated_total",
            memos,
            help: "Questions that the encoded reply to an equal one answered."
        )
        text.histograms(
            "server_answer_seconds",
            help: "From a question to its reply, without those of server_repeated_total.",
            samples: [([], times)]
        )
        text.gauge("server_waiting", waiting, help: "Questions that wait for upstreams now.")
        text.counter("server_busy_total", busy, help: "Questions not looked up because too many waited.")
        text.counter("server_limited_total", limited, help: "Questions above a client's limit.")
        text.counter("server_dropped_total", dropped, help: "Replies that the UDP socket could not take.")
        text.counter("server_connections_total", connections.accepted, help: "TCP and TLS connections accepted.")
        text.gauge("server_connections_open", connections.open, help: "TCP and TLS connections now.")
        text.counter("server_connections_refused_total", connections.refused, help: "Connections above the limit.")
        text.counter("server_reload_failures_total", reloadFailures, help: "Files that could not be read again.")
        lookups.write(to: &text)
        text.gauge("dns_cached_messages", lookups.cachedMessages, help: "Answers in the caches of messages.")
        text.counter("dns_upstream_questions_total", lookups.upstreamQuestions, help: "Questions sent to upstreams.")
        text.gauge("server_list_names", lookups.listNames, help: "Names and domains in lists.")
        return text.text
    }
}
