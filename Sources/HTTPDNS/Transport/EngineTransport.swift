// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import Names

/// Speaks to upstreams over an `Engine`, at the literal addresses that they are known by: no resolver is asked, so none
/// can wait for itself.
public struct EngineTransport: UpstreamTransport {
    /// In one place for all copies, of which every question makes some.
    private final class Parts: Sendable {
        let engine: Engine
        let tls: TLSSettings
        let limits: TimeLimits
        let network = NIOLockedValueBox(Network.unknown)

        init(_ engine: Engine, _ tls: TLSSettings, _ limits: TimeLimits) {
            self.engine = engine
            self.tls = tls
            self.limits = limits
        }
    }

    private let parts: Parts

    /// A transport.
    ///
    /// - Parameters:
    ///   - engine: what carries the requests; whoever made it ends it.
    ///   - tls: how TLS is done.
    ///   - limits: how long one exchange may take, whatever the resolver's budget.
    public init(engine: Engine, tls: TLSSettings = TLSSettings(), limits: TimeLimits = TimeLimits()) {
        parts = Parts(engine, tls, limits)
    }

    /// Takes the machine to be in a network: where that has IPv6 alone, upstreams that are known by IPv4 addresses are reached
    /// through its NAT64. ``ResolverConfiguration/networkDidChange`` is the place to call it.
    public func networkChanged(to network: Network) { parts.network.withLockedValue { $0 = network } }

    /// Sends the request and collects its reply.
    public func exchange(_ request: UpstreamRequest) async throws(UpstreamError) -> UpstreamReply {
        do {
            let prepared = try prepared(request)
            let response = try await parts.engine.exchange(
                prepared.request,
                from: prepared.endpoints,
                tls: parts.tls,
                limits: prepared.limits
            )
            return reply(response, try await response.body.collect(upTo: request.maxReplySize))
        } catch let error as DirectHTTPError {
            throw UpstreamError(error)
        } catch {
            throw UpstreamError(.misconfigured, "\(request.origin)\(request.target) is no URL: \(error)")
        }
    }

    // No parts of what awaits the reply: what an asynchronous function needs at any time takes memory all the time.

    @inline(never)
    private func reply(_ response: ExchangeResponse, _ body: ByteBuffer) -> UpstreamReply {
        UpstreamReply(
            status: response.head.status.code,
            fields: response.head.headerFields,
            body: Array(body.readableBytesView),
            endpoint: response.connection.endpoint
        )
    }

    @inline(never)
    private func prepared(
        _ request: UpstreamRequest
    ) throws -> (request: PreparedRequest, endpoints: EndpointList, limits: TimeLimits) {
        var limits = parts.limits
        if let limit = request.timeLimit { limits.whole = min(limit, limits.whole ?? limit) }
        let prepared = try PreparedRequest(
            request.method,
            request.origin,
            target: HTTPURL.target(request.target, of: request.origin),
            fields: request.fields,
            body: request.body.isEmpty ? .none : .bytes(request.body)
        )
        let network = parts.network.withLockedValue { $0 }
        return (prepared, EndpointList(network.reachable(request.endpoints)), limits)
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
