// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import HTTPTypes
import InMemoryTracing
import Names
import Testing
import Tracing

@testable import BeelineServer

@Suite("Spans of the server", .timeLimit(.minutes(1)))
struct ServerTracingTests {
    @Test("each request gets a span with its form and outcome, over HTTP/1.1 and HTTP/2", arguments: [false, true])
    func spans(_ isHTTP2: Bool) async throws {
        let tracer = InMemoryTracer()
        let lab = try await ServerLab {
            $0.tracer = tracer
            if !isHTTP2 { $0.tls = nil }
        }
        for target in ["/resolve?name=www.a.test&token=s3cret", "/resolve?name=www.corp.test", "/nothing"] {
            _ = try await lab.get(target, scheme: isHTTP2 ? .https : .http)
        }
        try await eventually("three spans", within: .seconds(10)) { tracer.finishedSpans.count >= 3 }
        let spans = tracer.finishedSpans
        #expect(spans.map(\.operationName) == ["GET json", "GET json", "GET"])
        #expect(spans.allSatisfy { $0.kind == .server })
        #expect(spans[0].attributes.get("beeline.outcome") == .string("NOERROR"))
        #expect(spans[2].attributes.get("http.response.status_code") == .int64(404))
        #expect(!"\(spans)".contains("s3cret") && tracer.activeSpans.isEmpty)
        await lab.stop()
    }

    @Test("the trace of a request is handed to the tracer", arguments: [false, true])
    func extraction(_ isHTTP2: Bool) async throws {
        let tracer = InMemoryTracer()
        let lab = try await ServerLab {
            $0.tracer = tracer
            if !isHTTP2 { $0.tls = nil }
        }
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let names = (try #require(HTTPField.Name("traceparent")), try #require(HTTPField.Name("tracestate")))
        let fields: HTTPFields = [names.0: parent, names.1: "a=b"]
        _ = try await lab.get("/resolve?name=www.corp.test", scheme: isHTTP2 ? .https : .http, fields: fields)
        let carrier = tracer.performedContextExtractions.first?.carrier as? TraceFields
        #expect(carrier?.parent == parent && carrier?.state == "a=b")
        #expect(TraceFields(parent: String(repeating: "0", count: 2_000), state: nil).parent == nil)
        await lab.stop()
    }

    @Test("probes, and requests above a client's limit, get no span")
    func untraced() async throws {
        let tracer = InMemoryTracer()
        let lab = try await ServerLab {
            $0.tracer = tracer
            $0.tls = nil
            $0.questionsPerSecond = 0.001
            $0.burst = 1
        }
        for path in ["/health", "/ready", "/metrics"] { #expect(try await lab.get(path, scheme: .http).status == 200) }
        var statuses: [Int] = []
        for _ in 0..<3 { statuses.append(try await lab.get("/resolve?name=www.corp.test", scheme: .http).status) }
        #expect(statuses == [200, 429, 429])
        #expect(tracer.finishedSpans.map(\.operationName) == ["GET json"] && tracer.activeSpans.isEmpty)
        #expect(tracer.performedContextExtractions.count == 1)
        await lab.stop()
    }
}
