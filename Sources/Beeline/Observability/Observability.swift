// SPDX-License-Identifier: Apache-2.0

public import CoreMetrics
public import Logging
public import Tracing

/// Who hears what a client does. Nothing is said to anybody who is not named here, not even to the process-wide systems:
/// hand over `MetricsSystem.factory` or `InstrumentationSystem.tracer` where those are meant.
///
/// ```swift
/// configuration.observability.logger = Logger(label: "http")
/// configuration.observability.metrics = MetricsSystem.factory
/// configuration.observability.tracer = InstrumentationSystem.tracer
/// ```
///
/// Names are those of OpenTelemetry's semantic conventions for HTTP clients. No cookie, credential or body is told, and of a
/// query not the values that are known to be signatures.
public struct Observability: Sendable {
    /// Hears of each request at `debug` and of each retry at `info`; errors are thrown, not logged. Default nil.
    public var logger: Logger?
    /// Gets `http.client.request.duration` and the phases' times. Default nil.
    public var metrics: (any MetricsFactory)?
    /// Gets a span for each request that is sent, redirects and retries included, and puts its context into the request's
    /// fields. Default nil.
    public var tracer: (any Tracer)?

    /// Nobody.
    public init() {}
}
