// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import HTTPWire
import NIOCore
import Names

/// Asks an HTTP proxy for a tunnel to the origin by name (RFC 9110 §9.3.6), then leaves the pipeline.
///
/// It answers a proxy's challenge on the same connection, or on a new one if the proxy closes this one.
final class ProxyTunnelHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let origin: Origin
    private let proxy: Proxy
    private let memory: AuthMemory
    private let onHead: (@Sendable (ReceivedHead) -> Void)?
    private var done: ((Result<ByteBuffer, DirectHTTPError>) -> Void)?
    private let allowsSurplus: Bool
    private var reader = HTTP1ResponseReader()
    private var answer: AuthMemory.Answer?
    /// The maximum size of the body of a challenge or a refusal in bytes.
    static let maxBodyBytes = 64 * 1024
    /// How long the body of a refusal is waited for.
    private static let refusalTime = TimeAmount.milliseconds(250)

    private var bodyBytes = 0
    /// The proxy's final refusal, while its body is read to see whether it is malformed.
    private var refusal: DirectHTTPError?
    private var refusalTimer: Scheduled<Void>?
    /// How many challenges were answered during this dial.
    private var challenges: Int
    /// The challenge that was the proxy's last answer on this connection.
    private var challenge: HTTPResponse?

    /// - Parameters:
    ///   - memory: the challenges of proxies.
    ///   - isAnswering: whether the proxy closed the previous connection with a challenge.
    ///   - allowsSurplus: whether the origin may send first.
    ///   - onHead: called with each head of the proxy's answers.
    ///   - done: called once, when the tunnel is open, with the origin's first bytes, or when the proxy refused. If `isChallenge`
    ///     is true, a new connection may succeed.
    init(
        to origin: Origin,
        proxy: Proxy,
        memory: AuthMemory,
        isAnswering: Bool,
        allowsSurplus: Bool,
        onHead: (@Sendable (ReceivedHead) -> Void)? = nil,
        done: @escaping (Result<ByteBuffer, DirectHTTPError>) -> Void
    ) {
        self.origin = origin
        self.proxy = proxy
        self.memory = memory
        self.allowsSurplus = allowsSurplus
        self.onHead = onHead
        challenges = isAnswering ? 1 : 0
        self.done = done
    }

    func handlerAdded(context: ChannelHandlerContext) { ask(context) }

    private func ask(_ context: ChannelHandlerContext) {
        reader.expect(method: .connect)
        answer = proxy.credentials.flatMap {
            memory.authorization(
                $0,
                for: proxy.origin,
                method: .connect,
                target: HTTP1RequestWriter.tunnelTarget(origin)
            )
        }
        let head = HTTP1RequestWriter.connect(to: origin, by: proxy, credentials: answer?.field)
        context.writeAndFlush(wrapOutboundOut(head), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard done != nil else { return }
        reader.feed(unwrapInboundIn(data))
        do throws(HTTP1Error) {
            while done != nil, let event = try reader.next() {
                switch event {
                case .informational(let response, let raw):
                    onHead?(ReceivedHead(response, raw: raw))
                case .body(let piece):
                    bodyBytes += piece.readableBytes
                    guard bodyBytes <= Self.maxBodyBytes else {
                        if let refusal { return fail(refusal, context: context) }
                        throw .malformed("too many bytes in the body of a challenge")
                    }
                case .head(let response, let raw, let keepAlive):
                    onHead?(ReceivedHead(response, raw: raw))
                    challenge = nil
                    guard isChallenge(response) else {
                        finish(response, context: context)
                        continue
                    }
                    challenges += 1
                    if !keepAlive { return finish(response, isChallenge: true, context: context) }
                    challenge = response
                case .end:
                    if let refusal { return fail(refusal, context: context) }
                    // The end of a challenge. Bytes behind it are read as the next answer, as if they had arrived later.
                    ask(context)
                }
            }
        } catch {
            if var refusal {
                // The fault does not hide the refusal.
                refusal.hasBrokenBody = true
                return fail(refusal, context: context)
            }
            fail(
                DirectHTTPError(.malformedResponse, "the answer of the proxy \(proxy) is not HTTP: \(error.message)"),
                context: context
            )
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        lost(DirectHTTPError(.proxyRefused, "the proxy \(proxy) closed the connection"), context: context)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        lost(
            DirectHTTPError(.proxyRefused, "the proxy \(proxy) failed: \(error)", underlyingError: error),
            context: context
        )
    }

    /// Ends the handshake after the connection was lost. A proxy may close it after a challenge without announcing
    /// that; a new connection may then succeed.
    private func lost(_ error: DirectHTTPError, context: ChannelHandlerContext) {
        var error = refusal ?? error
        if refusal == nil, let challenge { (error.response, error.isChallenge) = (challenge, true) }
        fail(error, context: context)
    }

    /// Whether the response is a challenge that can be answered.
    private func isChallenge(_ response: HTTPResponse) -> Bool {
        guard response.status == .proxyAuthenticationRequired, let credentials = proxy.credentials,
            challenges < AuthMemory.maxChallenges
        else { return false }
        return memory.recordChallenge(
            response.headerFields[values: .proxyAuthenticate],
            credentials,
            for: proxy.origin,
            used: answer,
            isRemembered: challenges == 0
        )
    }

    private func finish(_ response: HTTPResponse, isChallenge: Bool = false, context: ChannelHandlerContext) {
        guard response.status.kind == .successful else {
            let remedy = proxy.user == nil ? ": set its user and password" : ": its user or password is wrong"
            var error = DirectHTTPError(
                .proxyRefused,
                "the proxy \(proxy) answered \(response.status) to CONNECT \(origin.authority)"
                    + (response.status == .proxyAuthenticationRequired ? remedy : "")
            )
            error.response = response
            error.isChallenge = isChallenge
            if isChallenge { return fail(error, context: context) }
            refusal = error
            refusalTimer = context.eventLoop.assumeIsolated().scheduleTask(in: Self.refusalTime) {
                self.fail(error, context: context)
            }
            return
        }
        // In TLS the client sends first. Bytes that arrive before that are refused, unless the tunnel may carry anything.
        let surplus = reader.takeRest()
        guard surplus.readableBytes == 0 || allowsSurplus else {
            return fail(
                DirectHTTPError(.proxyRefused, "the proxy \(proxy) sent bytes before the tunnel was established"),
                context: context
            )
        }
        let done = done.take()
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
        done?(.success(surplus))
    }

    private func fail(_ error: DirectHTTPError, context: ChannelHandlerContext) {
        refusalTimer?.cancel()
        done.take()?(.failure(error))
        context.close(promise: nil)
    }
}
