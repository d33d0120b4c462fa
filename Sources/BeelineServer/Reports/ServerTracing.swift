// SPDX-License-Identifier: Apache-2.0

import Names
import Tracing

/// The fields of a request that carry its trace (W3C Trace Context).
struct TraceFields: Sendable {
    var parent: String?
    var state: String?

    /// Longer fields are ignored. The context allows tracestate to have 512 octets at least.
    private static let maxOctets = 1_024

    init(parent: String?, state: String?) {
        self.parent = parent.flatMap { $0.utf8.count <= Self.maxOctets ? $0 : nil }
        self.state = state.flatMap { $0.utf8.count <= Self.maxOctets ? $0 : nil }
    }
}

/// Reads the fields for a tracer.
private struct TraceExtractor: Extractor {
    func extract(key: String, from fields: TraceFields) -> String? {
        switch key.lowercased() {
        case "traceparent": fields.parent
        case "tracestate": fields.state
        default: nil
        }
    }
}

/// Makes a span for each request, with the names of OpenTelemetry's conventions. Records no names, tokens or queries.
struct ServerTracing: Sendable {
    let tracer: any Tracer

    func begin(_ request: ServerRequest, _ trace: TraceFields) -> any Span {
        var context = ServiceContext.topLevel
        tracer.extract(trace, into: &context, using: TraceExtractor())
        let method =
            switch request.method {
            case .get: "GET"
            case .post: "POST"
            case .other: "_OTHER"
            }
        let span: any Span = tracer.startAnySpan(method, context: context, ofKind: .server)
        span.attributes["http.request.method"] = method
        span.attributes["client.address"] = "\(request.client)"
        if let local = request.local { span.attributes["server.port"] = Int(local.port) }
        return span
    }

    func end(_ span: any Span, with reply: ServerReply) {
        span.operationName = reply.form == .other ? span.operationName : "\(span.operationName) \(reply.form.rawValue)"
        span.attributes["http.response.status_code"] = reply.status
        span.attributes["http.response.body.size"] = reply.body.count
        span.attributes["beeline.form"] = reply.form.rawValue
        span.attributes["beeline.outcome"] = reply.outcome
        span.attributes["beeline.source"] = reply.source
        if reply.status >= 500 {
            span.attributes["error.type"] = "\(reply.status)"
            span.setStatus(SpanStatus(code: .error))
        }
        span.end()
    }
}
