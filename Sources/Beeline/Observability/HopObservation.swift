// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import DirectHTTP
import HTTPDNS
import HTTPTypes
import Logging
import Names
import Tracing

/// Logs, measures and traces one request, from its start to the end of the response body.
struct HopObservation: Sendable {
    let telemetry: Telemetry
    let method: String
    let url: HTTPURL
    /// The number of the request within the call, starting at 1.
    let number: Int
    var span: (any Span)?
    /// Header fields that the tracer adds to the request.
    var fields: HTTPFields = [:]
    private let begin: Duration

    init(telemetry: Telemetry, method: String, url: HTTPURL, number: Int) {
        self.telemetry = telemetry
        self.method = method
        self.url = url
        self.number = number
        begin = telemetry.clock.now()
    }

    /// Records that the request failed without a response.
    func failed(_ error: BeelineError) {
        let code = error.code.description
        if let span {
            span.attributes["error.type"] = code
            span.setStatus(SpanStatus(code: .error, message: code))
            span.end()
        }
        record(elapsed, dimensions: dimensions + [("error.type", code)])
        telemetry.logger?.debug("request failed", metadata: metadata(["error.type": "\(code)"]))
    }

    /// Ends the observation of a request that was not sent, because another request replaces it.
    func superseded() { span?.end() }

    /// Records the head of the response, and the rest when its body ends.
    func answered(_ response: ExchangeResponse, hop: Hop) {
        let status = hop.status.code
        let version = hop.httpVersion
        if let span {
            span.attributes["http.response.status_code"] = status
            span.attributes["network.protocol.name"] = "http"
            span.attributes["network.protocol.version"] = version
            span.attributes["network.peer.address"] = hop.endpoint.address.description
            span.attributes["network.peer.port"] = Int(hop.endpoint.port)
            if let source = hop.resolution?.source { span.attributes["beeline.resolution.source"] = "\(source)" }
            if status >= 400 {
                span.attributes["error.type"] = "\(status)"
                span.setStatus(SpanStatus(code: .error))
            }
        }
        record(hop.timings)
        let dimensions = dimensions
        response.whenOver { [self] error, bodyTime, bytes in
            var dimensions =
                dimensions + [
                    ("http.response.status_code", "\(status)"), ("network.protocol.version", version),
                ]
            // A body that the caller does not read to its end is not an error.
            if let error, error.code != .cancelled {
                span?.attributes["error.type"] = error.code.description
                span?.setStatus(SpanStatus(code: .error, message: error.code.description))
                dimensions.append(("error.type", error.code.description))
            } else if status >= 400 {
                dimensions.append(("error.type", "\(status)"))
            }
            span?.attributes["http.response.body.size"] = bytes
            span?.end()
            record(elapsed, dimensions: dimensions)
            recordPhase("body", duration: bodyTime)
            if let metrics = telemetry.metrics {
                Recorder(
                    label: "http.client.response.body.size",
                    dimensions: dimensions,
                    aggregate: true,
                    factory: metrics
                ).record(bytes)
            }
            telemetry.logger?.debug(
                "request done",
                metadata: metadata([
                    "http.response.status_code": "\(status)", "network.protocol.version": "\(version)",
                    "network.peer.address": "\(hop.endpoint.address)", "network.peer.port": "\(hop.endpoint.port)",
                    "http.response.body.size": "\(bytes)",
                    "beeline.resolution.source": "\(hop.resolution.map { "\($0.source)" } ?? "none")",
                    "beeline.connection.reused": "\(hop.isReused)",
                ])
            )
        }
    }

    private var elapsed: Duration { telemetry.clock.now() - begin }

    private var dimensions: [(String, String)] {
        [
            ("http.request.method", method), ("server.address", url.host.description),
            ("server.port", "\(url.origin.port)"), ("url.scheme", url.origin.scheme.name),
        ]
    }

    private func metadata(_ more: Logger.Metadata) -> Logger.Metadata {
        var metadata = more
        metadata["http.request.method"] = "\(method)"
        metadata["url.full"] = "\(Telemetry.text(of: url))"
        metadata["beeline.duration_ms"] = "\(elapsed.nanoseconds / 1_000_000)"
        return metadata
    }

    private func record(_ duration: Duration, dimensions: [(String, String)]) {
        guard let metrics = telemetry.metrics else { return }
        let timer = Timer(label: "http.client.request.duration", dimensions: dimensions, factory: metrics)
        timer.recordNanoseconds(duration.nanoseconds)
    }

    private func record(_ timings: ExchangeTimings) {
        if let time = timings.resolve { recordPhase("resolve", duration: time) }
        if let time = timings.connect { recordPhase("connect", duration: time) }
        if let time = timings.handshake { recordPhase("tls", duration: time) }
        recordPhase("first_byte", duration: timings.firstByte)
    }

    /// Records the time of a phase. The OpenTelemetry conventions have no names for phases.
    private func recordPhase(_ name: String, duration: Duration) {
        guard let metrics = telemetry.metrics else { return }
        let dimensions = [("server.address", url.host.description), ("beeline.phase", name)]
        Timer(label: "beeline.client.phase.duration", dimensions: dimensions, factory: metrics)
            .recordNanoseconds(duration.nanoseconds)
    }
}
