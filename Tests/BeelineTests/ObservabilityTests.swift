// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import CoreMetrics
import InMemoryLogging
import InMemoryTracing
import Logging
import MetricsTestKit
import NIOCore
import Testing
import Tracing

@Suite("Logs, metrics, traces and timings", .timeLimit(.minutes(1)))
struct ObservabilityTests {
    @Test("a response reports the duration of each phase, and a reused connection has no connection phases")
    func phases() async throws {
        let lab = try await ClientLab { _ in .text("hello") }
        let first = try await lab.client.get(lab.url("a.test"))
        _ = try await first.text()
        let cold = first.timings
        for phase in [cold.resolve, cold.connect, cold.handshake, cold.firstByte] { #expect((phase ?? .zero) > .zero) }
        #expect(cold.body != nil)
        let second = try await lab.client.get(lab.url("a.test"))
        _ = try await second.text()
        let warm = second.timings
        #expect(warm.resolve == nil && warm.connect == nil && warm.handshake == nil && warm.firstByte > .zero)
        await lab.stop()
    }

    @Test("each request has a span with the attributes of OpenTelemetry, and its headers carry the span's context")
    func spans() async throws {
        let tracer = InMemoryTracer()
        let lab = try await ClientLab(configure: { $0.observability.tracer = tracer }) { request in
            request.path == "/go" ? .redirect(to: "/end?sig=secret&a=b") : .text("no", status: .notFound)
        }
        let response = try await lab.client.get(lab.url("a.test", "/go"))
        _ = try await response.text()
        let spans = tracer.finishedSpans
        #expect(spans.map(\.operationName) == ["GET", "GET"] && spans.allSatisfy { $0.kind == .client })
        let last = try #require(spans.last)
        let attributes = last.attributes
        #expect(attributes.get("http.request.method") == .string("GET"))
        #expect(attributes.get("server.address") == .string("a.test"))
        #expect(attributes.get("url.full") == .string(lab.url("a.test", "/end?sig=REDACTED&a=b")))
        #expect(attributes.get("network.peer.address") == .string("127.0.0.1"))
        #expect(attributes.get("error.type") == .string("404"))
        #expect(last.status?.code == .error)
        #expect(spans.first?.attributes.get("http.request.resend_count") == nil)
        #expect(attributes.get("http.request.resend_count") != nil)
        let sent = lab.site.requests.map { $0.fields[HTTPField.Name("in-memory-span-id") ?? .via] ?? "" }
        #expect(sent == spans.map(\.spanID))
        await lab.stop()
    }

    @Test("a failed request ends its span, with the error code as its type")
    func failedSpan() async throws {
        let tracer = InMemoryTracer()
        let metrics = TestMetrics()
        let lab = try await ClientLab(configure: {
            $0.observability.tracer = tracer
            $0.observability.metrics = metrics
        }) { _ in .raw(ending: .hangUp) }
        _ = try? await lab.client.get(lab.url("a.test"))
        #expect(tracer.finishedSpans.map { $0.attributes.get("error.type") } == [.string("connectionLost")])
        let timer = try #require(metrics.timers.first { $0.label == "http.client.request.duration" })
        #expect(timer.dimensions.contains { $0 == ("error.type", "connectionLost") })
        await lab.stop()
    }

    @Test("metrics contain the duration of the request and of each phase")
    func metrics() async throws {
        let metrics = TestMetrics()
        let lab = try await ClientLab(configure: { $0.observability.metrics = metrics }) { _ in .text("hello") }
        _ = try await lab.client.get(lab.url("a.test")).text()
        let timer = try #require(metrics.timers.first { $0.label == "http.client.request.duration" })
        for dimension in [
            ("http.request.method", "GET"), ("server.address", "a.test"), ("http.response.status_code", "200"),
            ("network.protocol.version", "1.1"),
        ] {
            #expect(timer.dimensions.contains { $0 == dimension }, "\(dimension)")
        }
        let phases = metrics.timers.filter { $0.label == "beeline.client.phase.duration" }.compactMap { timer in
            timer.dimensions.first { $0.0 == "beeline.phase" }?.1
        }
        #expect(phases.sorted() == ["body", "connect", "first_byte", "resolve", "tls"])
        #expect(metrics.recorders.first { $0.label == "http.client.response.body.size" }?.lastValue == 5)
        await lab.stop()
    }

    @Test("logs contain requests and retries, but no cookie, credential or signature")
    func logs() async throws {
        let handler = InMemoryLogHandler()
        var logger = Logger(label: "test") { _ in handler }
        logger.logLevel = .trace
        let log = logger
        let clock = ManualClock()
        let lab = try await ClientLab(
            clock: clock,
            configure: {
                $0.observability.logger = log
                $0.retry = .standard
            }
        ) { request in
            .text("body-secret", status: request.query["n"] == nil ? .ok : .serviceUnavailable)
                .adding(.setCookie, "sid=cookie-secret")
        }
        var options = RequestOptions()
        options.credentials = .basic(user: "user-secret", password: "password-secret")
        for path in ["/?access_token=token-secret", "/"] {
            _ = try await lab.client.get(
                "https://url-secret:pw-secret@a.test:\(lab.site.port)\(path)",
                options: options
            ).text()
        }
        async let retried = lab.client.get(lab.url("a.test", "/?n=1"))
        for _ in 0..<2 {
            try await clock.sleepers(atLeast: 1)
            clock.advance(by: .seconds(60))
        }
        _ = try await retried.text()
        let entries = handler.entries
        let done = entries.filter { $0.message == "request done" }
        #expect(done.count == 5)
        // The attributes have the same values as those of a span.
        #expect(done.allSatisfy { $0.metadata["network.peer.address"] == "127.0.0.1" })
        #expect(done.allSatisfy { $0.metadata["network.peer.port"] == "\(lab.site.port)" })
        #expect(
            entries.filter { $0.level == .info }.map(\.message)
                == Array(repeating: "request will be tried again", count: 2)
        )
        for entry in entries { #expect(!"\(entry)".contains("-secret"), "\(entry)") }
        await lab.stop()
    }
}
