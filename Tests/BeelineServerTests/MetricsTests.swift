// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import HTTPDNS
import Names
import Testing

@testable import BeelineServer

@Suite("Metrics for Prometheus", .timeLimit(.minutes(1)))
struct MetricsTests {
    private static let promtool = "/usr/bin/promtool"

    /// The metrics of a server that was asked in several forms.
    private static func metrics() async throws -> String {
        let lab = try await ServerLab()
        for target in [
            "/resolve?name=www.a.test", "/resolve?name=www.a.test", "/resolve?name=none.test",
            "/resolve?name=broken.test", "/d?dn=www.corp.test", "/dns-query?dns=AAAA", "/nothing",
        ] {
            _ = try await lab.get(target)
        }
        let text = String(decoding: try await lab.get("/metrics").body, as: UTF8.self)
        await lab.stop()
        return text
    }

    @Test("durations are counted by form and outcome, and those of upstreams by name")
    func durations() async throws {
        let text = try await Self.metrics()
        for line in [
            #"answer_seconds_count{form="json",outcome="answer"} 2"#,
            #"answer_seconds_count{form="json",outcome="no_such_name"} 1"#,
            #"answer_seconds_count{form="json",outcome="failure"} 1"#,
            #"answer_seconds_bucket{form="dnspod",outcome="answer",le="+Inf"} 1"#,
            #"answer_seconds_count{form="doh",outcome="refused"} 1"#,
            #"answer_seconds_count{form="other",outcome="refused"} 1"#,
            #"upstream_seconds_count{upstream="script",question="addresses",outcome="answer"} 2"#,
            #"upstream_seconds_count{upstream="script",question="addresses",outcome="failure"} 1"#,
            #"dns_lookups_total{found="cached"} 1"#, "server_ready 1",
        ] {
            #expect(text.contains("\(line)\n"), "\(line) is not in \(text)")
        }
    }

    @Test("the times of upstreams with the same name are added up")
    func sameName() {
        var (one, two) = (UpstreamTimes(), UpstreamTimes())
        one.record(.milliseconds(1), isAnswer: true)
        two.record(.milliseconds(3), isAnswer: true)
        two.record(.seconds(9), isAnswer: false)
        var text = PrometheusText()
        let samples = LookupReport.samples([("a", one), ("b", one), ("a", two)], question: "addresses")
        text.histograms("seconds", help: "", samples: samples)
        for line in [
            #"{upstream="a",question="addresses",outcome="answer",le="0.001"} 1"#,
            #"_count{upstream="a",question="addresses",outcome="answer"} 2"#,
            #"_count{upstream="a",question="addresses",outcome="failure"} 1"#,
            #"_count{upstream="b",question="addresses",outcome="answer"} 1"#,
        ] {
            #expect(text.text.contains("\(line)\n"), "\(line) is not in \(text.text)")
        }
    }

    @Test("buckets include the smaller ones, and the last is the count")
    func buckets() {
        var histogram = DurationHistogram()
        for milliseconds in [0, 1, 1, 3, 700, 60_000] { histogram.record(.milliseconds(milliseconds)) }
        var text = PrometheusText()
        text.histograms("a_seconds", help: "A.", samples: [(labels: [], value: histogram)])
        let counts = text.text.split(separator: "\n").filter { $0.contains("_bucket") }
            .compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
        #expect(counts == counts.sorted() && counts.first == 1 && counts.last == 6 && counts.dropLast().last == 5)
        #expect(text.text.contains("beeline_a_seconds_bucket{le=\"0.001\"} 3\n"))
        #expect(text.text.hasSuffix("beeline_a_seconds_sum 60.705\nbeeline_a_seconds_count 6\n"))
    }

    @Test("backslashes, quotation marks and line feeds are escaped where the format says so")
    func escaping() {
        var text = PrometheusText()
        let value = "a\\b\"c\nd"
        text.write("x_total", type: "counter", help: value, samples: [(labels: [("upstream", value)], value: 1)])
        #expect(
            text.text == """
                # HELP beeline_x_total a\\\\b"c\\nd
                # TYPE beeline_x_total counter
                beeline_x_total{upstream="a\\\\b\\"c\\nd"} 1

                """
        )
    }

    @Test("promtool finds no fault", .enabled(if: FileManager.default.isExecutableFile(atPath: promtool)))
    func faultless() async throws {
        let path = NSTemporaryDirectory() + "/beeline-metrics-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(try await Self.metrics().utf8).write(to: URL(fileURLWithPath: path))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.promtool)
        process.arguments = ["check", "metrics"]
        process.standardInput = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0 && text.isEmpty, "\(text)")
    }
}
