// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import Names

/// Asks an HTTP proxy for a tunnel to the origin by name (RFC 9110 §9.3.6), then leaves the pipeline.
final class ProxyTunnelHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let origin: Origin
    private let proxy: Proxy
    private var done: ((Result<Void, DirectHTTPError>) -> Void)?
    private var parser = HTTP1ResponseParser()

    /// - Parameter done: called once, when the tunnel stands or the proxy refused.
    init(to origin: Origin, proxy: Proxy, done: @escaping (Result<Void, DirectHTTPError>) -> Void) {
        self.origin = origin
        self.proxy = proxy
        self.done = done
    }

    func handlerAdded(context: ChannelHandlerContext) {
        parser.expect(method: .connect)
        let head = HTTP1RequestWriter.connect(to: origin, credentials: proxy.authorization)
        context.writeAndFlush(wrapOutboundOut(head), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard done != nil else { return }
        parser.feed(unwrapInboundIn(data))
        do {
            while let event = try parser.next() {
                guard case .head(let response, _) = event else { continue }
                return finish(response, context)
            }
        } catch {
            fail(DirectHTTPError(.proxyRefused, "the proxy \(proxy) does not speak HTTP: \(error.message)"), context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(DirectHTTPError(.proxyRefused, "the proxy \(proxy) closed the connection"), context)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(DirectHTTPError(.proxyRefused, "the proxy \(proxy) failed: \(error)", underlyingError: error), context)
    }

    private func finish(_ response: HTTPResponse, _ context: ChannelHandlerContext) {
        guard response.status.kind == .successful else {
            let remedy = response.status.code == 407 ? ": give it user and password" : ""
            var error = DirectHTTPError(
                .proxyRefused,
                "the proxy \(proxy) answered \(response.status) to CONNECT \(origin.authority)\(remedy)"
            )
            error.response = response
            return fail(error, context)
        }
        // A server that speaks before TLS does would have its bytes here; in TLS the client speaks first, so they are refused.
        guard parser.takeRest().readableBytes == 0 else {
            return fail(
                DirectHTTPError(.proxyRefused, "the proxy \(proxy) sent bytes before the tunnel stood"),
                context
            )
        }
        let done = done.take()
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
        done?(.success(()))
    }

    private func fail(_ error: DirectHTTPError, _ context: ChannelHandlerContext) {
        done.take()?(.failure(error))
        context.close(promise: nil)
    }
}
