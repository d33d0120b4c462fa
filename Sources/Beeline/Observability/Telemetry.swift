// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import DirectHTTP
import HTTPDNS
import HTTPTypes
import Logging
import Names
import Tracing

/// Reports the requests of a client to an ``Observability``.
struct Telemetry: Sendable {
    let logger: Logger?
    let metrics: (any MetricsFactory)?
    let tracer: (any Tracer)?
    let clock: CallClock

    /// Creates telemetry; `nil` if nothing is observed.
    init?(_ observability: Observability, clock: CallClock) {
        logger = observability.logger
        metrics = observability.metrics
        tracer = observability.tracer
        self.clock = clock
        if logger == nil, metrics == nil, tracer == nil { return nil }
    }

    /// Starts the observation of a request.
    ///
    /// - Parameter request: The number of the request within the call, starting at 1.
    func begin(_ hop: HopRequest, request number: Int) -> HopObservation {
        var observation = HopObservation(telemetry: self, method: hop.method.rawValue, url: hop.url, number: number)
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

    /// Logs that a request will be tried again.
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

    /// Query parameters that carry signatures or tokens (OpenTelemetry's list). Their values are redacted.
    private static let secretParameters: Set<Substring> = [
        "AWSAccessKeyId", "Signature", "sig", "X-Goog-Signature", "X-Amz-Signature", "access_token",
    ]

    /// A URL for logs: without user, password and fragment, and with redacted secret values.
    static func text(of url: HTTPURL) -> String {
        guard let query = url.query else { return "\(url.origin)\(url.path)" }
        let parts = query.split(separator: "&", omittingEmptySubsequences: false).map { part in
            let name = part.prefix { $0 != "=" }
            return secretParameters.contains(name) ? name + "=REDACTED" : part
        }
        return "\(url.origin)\(url.path)?\(parts.joined(separator: "&"))"
    }
}

/// Adds a trace context to header fields. Keys that are not valid field names are left out.
private struct FieldInjector: Injector {
    func inject(_ value: String, forKey key: String, into fields: inout HTTPFields) {
        guard let name = HTTPField.Name(key) else { return }
        fields[name] = value
    }
}
