// SPDX-License-Identifier: Apache-2.0

public import CoreMetrics
public import Logging
public import Tracing

/// The logger, metrics and tracer of a client. The client uses only these, never the process-wide systems. To use the
/// process-wide systems, set `MetricsSystem.factory` or `InstrumentationSystem.tracer` here.
///
/// ```swift
/// configuration.observability.logger = Logger(label: "http")
/// configuration.observability.metrics = MetricsSystem.factory
/// configuration.observability.tracer = InstrumentationSystem.tracer
/// ```
///
/// Names follow OpenTelemetry's semantic conventions for HTTP clients. Cookies, credentials and bodies are never recorded.
/// Values of query parameters that are known to be signatures or tokens are redacted.
public struct Observability: Sendable {
    /// Logs each request at `debug` and each retry at `info`. Errors are thrown, not logged. Default `nil`.
    public var logger: Logger?
    /// Receives `http.client.request.duration` and the times of the phases. Default `nil`.
    public var metrics: (any MetricsFactory)?
    /// Creates a span for each request, including redirects and retries, and adds its context to the request's fields. Default
    /// `nil`.
    public var tracer: (any Tracer)?

    /// No logger, metrics or tracer.
    public init() {}
}
