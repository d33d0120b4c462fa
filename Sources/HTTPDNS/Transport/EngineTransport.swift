// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import Names

/// Sends requests to upstreams with an `Engine`, at their literal addresses. It uses no resolver, so a resolver never
/// waits for itself.
public final class EngineTransport: UpstreamTransport {
    private let engine: Engine
    private let tls: TLSSettings
    private let limits: TimeLimits
    private let network = NIOLockedValueBox(Network.unknown)

    /// A transport that uses an engine.
    ///
    /// - Parameters:
    ///   - engine: The engine for requests; its creator shuts it down.
    ///   - tls: The TLS settings.
    ///   - limits: The time limits for one exchange, in addition to the resolver's budget.
    public init(engine: Engine, tls: TLSSettings = TLSSettings(), limits: TimeLimits = TimeLimits()) {
        self.engine = engine
        self.tls = tls
        self.limits = limits
    }

    /// Whether certificates are verified, according to the TLS settings.
    package var verifiesCertificates: Bool { tls.verifiesCertificate }

    /// Sets the machine's network. In an IPv6-only network, upstreams with IPv4 addresses are reached through its
    /// NAT64. Call it from ``ResolverConfiguration/NetworkWatch/onChange``.
    public func networkChanged(to network: Network) { self.network.withLockedValue { $0 = network } }

    /// Sends the request and collects its reply.
    package func exchange(_ request: UpstreamRequest) async throws(UpstreamError) -> UpstreamReply {
        do {
            let prepared = try prepared(request)
            let response = try await engine.exchange(
                prepared.request,
                from: prepared.endpoints,
                tls: tls,
                limits: prepared.limits
            )
            return reply(from: response, body: try await response.body.collect(upTo: request.maxReplySize))
        } catch let error as DirectHTTPError {
            throw UpstreamError(error)
        } catch {
            throw UpstreamError(.misconfigured, "\(request.origin)\(request.target) is not a URL: \(error)")
        }
    }

    // The rest is kept out of the async function so that its frame stays small.

    @inline(never)
    private func reply(from response: ExchangeResponse, body: ByteBuffer) -> UpstreamReply {
        UpstreamReply(
            status: response.head.status.code,
            fields: response.head.headerFields,
            body: Array(body.readableBytesView)
        )
    }

    @inline(never)
    private func prepared(
        _ request: UpstreamRequest
    ) throws -> (request: PreparedRequest, endpoints: EndpointList, limits: TimeLimits) {
        var limits = limits
        if let limit = request.timeLimit { limits.total = min(limit, limits.total ?? limit) }
        var prepared = try PreparedRequest(
            request.method,
            request.origin,
            target: HTTPURL.target(request.target, of: request.origin),
            fields: request.fields,
            body: request.body.isEmpty ? .none : .bytes(request.body)
        )
        if let side = request.side { prepared.hedgeSide = side }
        let network = network.withLockedValue { $0 }
        return (prepared, EndpointList(network.reachable(request.endpoints)), limits)
    }
}

extension UpstreamError {
    /// Maps an exchange's error to an upstream error.
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
