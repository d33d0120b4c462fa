// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
import HTTPTypes
import NIOCore
import Names

/// Speaks to upstreams over an `Engine`, at the literal addresses that they are known by: no resolver is asked, so none
/// can wait for itself.
public struct EngineTransport: UpstreamTransport {
    private let engine: Engine
    private let tls: TLSSettings
    private let limits: TimeLimits

    /// A transport.
    ///
    /// - Parameters:
    ///   - engine: what carries the requests; whoever made it ends it.
    ///   - tls: how TLS is done.
    ///   - limits: how long one exchange may take, whatever the resolver's budget.
    public init(engine: Engine, tls: TLSSettings = TLSSettings(), limits: TimeLimits = TimeLimits()) {
        self.engine = engine
        self.tls = tls
        self.limits = limits
    }

    /// Sends the request and collects its reply.
    public func exchange(_ request: UpstreamRequest) async throws(UpstreamError) -> UpstreamReply {
        do {
            var limits = limits
            if let limit = request.timeLimit { limits.whole = min(limit, limits.whole ?? limit) }
            let prepared = try PreparedRequest(
                request.method,
                HTTPURL(origin: request.origin, target: request.target),
                fields: request.fields,
                body: request.body.isEmpty ? .none : .bytes(request.body)
            )
            let response = try await engine.exchange(
                prepared,
                from: EndpointList(request.endpoints),
                tls: tls,
                limits: limits
            )
            let body = try await response.body.collect(upTo: request.maxReplySize)
            return UpstreamReply(
                status: response.head.status.code,
                fields: response.head.headerFields,
                body: Array(body.readableBytesView),
                endpoint: response.connection.endpoint
            )
        } catch let error as DirectHTTPError {
            throw UpstreamError(error)
        } catch {
            throw UpstreamError(.misconfigured, "\(request.origin)\(request.target) is no URL: \(error)")
        }
    }
}

extension UpstreamError {
    /// What an exchange's failure means to a resolver.
    init(_ error: DirectHTTPError) {
        let code: Code =
            switch error.code {
            case .certificateRejected, .tlsFailed: .untrusted
            case .connectTimeout, .idleTimeout, .deadlineExceeded: .timeLimit
            case .responseTooLarge: .answerTooLarge
            case .malformedResponse, .undecodableBody: .malformedAnswer
            case .cancelled, .shutDown: .cancelled
            case .invalidRequest: .misconfigured
            case .poolExhausted: .busy
            default: .unreachable
            }
        self.init(code, error.message)
    }
}
