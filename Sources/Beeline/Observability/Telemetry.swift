// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import DirectHTTP
import HTTPTypes
import Logging
import Names
import Tracing

/// Tells an ``Observability`` what happens to the requests of a client.
struct Telemetry: Sendable {
    let logger: Logger?
    let metrics: (any MetricsFactory)?
    let tracer: (any Tracer)?

    /// Nil where nobody wants to hear.
    init?(_ observability: Observability) {
        logger = observability.logger
        metrics = observability.metrics
        tracer = observability.tracer
        if logger == nil, metrics == nil, tracer == nil { return nil }
    }

    /// A request begins.
    ///
    /// - Parameter request: its number within the call, from 1.
    func begin(_ hop: HopRequest, request number: Int) -> HopObservation {
        var observation = HopObservation(telemetry: self, method: hop.method.rawValue, url: hop.url)
        guard let tracer else { return observation }
        let span: any Span = tracer.startAnySpan(
            hop.method.rawValue,
            context: ServiceContext.current ?? .topLevel,
            ofKind: .client
        )
        span.attributes["http.request.method"] = hop.method.rawValue
        span.attributes["url.full"] = Self.text(of: hop.url)
        span.attributes["url.scheme"] = hop.url.origin.scheme.name
        span.attributes["server.address"] = hop.url.host.description
        span.attributes["server.port"] = Int(hop.url.origin.port)
        if number > 1 { span.attributes["http.request.resend_count"] = number - 1 }
        observation.span = span
        tracer.inject(span.context, into: &observation.fields, using: FieldInjector())
        return observation
    }

    /// A request is going to be tried again.
    func willRetry(
        _ request: ClientRequest,
        after result: Result<Response, BeelineError>,
        wait: Duration,
        try number: Int
    ) {
        guard let logger else { return }
        var metadata: Logger.Metadata = [
            "http.request.method": "\(request.method.rawValue)", "url.full": "\(Self.text(of: request.url))",
            "beeline.wait_ms": "\(wait.nanoseconds / 1_000_000)", "beeline.try": "\(number)",
        ]
        switch result {
        case .success(let response): metadata["http.response.status_code"] = "\(response.status.code)"
        case .failure(let error): metadata["error.type"] = "\(error.code)"
        }
        logger.info("request will be tried again", metadata: metadata)
    }

    /// Parameters of a query that are signatures or tokens (OpenTelemetry's list): their values are not told.
    private static let secretParameters: Set<Substring> = [
        "AWSAccessKeyId", "Signature", "sig", "X-Goog-Signature", "X-Amz-Signature", "access_token",
    ]

    /// A URL as it may stand in a log: without user, password and fragment, and without values that are known as secrets.
    static func text(of url: HTTPURL) -> String {
        guard let query = url.query else { return "\(url.origin)\(url.path)" }
        let parts = query.split(separator: "&", omittingEmptySubsequences: false).map { part in
            let name = part.prefix { $0 != "=" }
            return secretParameters.contains(name) ? name + "=REDACTED" : part
        }
        return "\(url.origin)\(url.path)?\(parts.joined(separator: "&"))"
    }
}

/// Puts a trace's context into header fields; what is no field is left out.
private struct FieldInjector: Injector {
    func inject(_ value: String, forKey key: String, into fields: inout HTTPFields) {
        guard let name = HTTPField.Name(key) else { return }
        fields[name] = value
    }
}
