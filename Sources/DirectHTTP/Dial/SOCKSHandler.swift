// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Names

/// Runs a ``SOCKSHandshake`` on a channel, then leaves the pipeline.
final class SOCKSHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let proxy: Proxy
    private let origin: Origin
    private var handshake: SOCKSHandshake?
    private var done: ((Result<Void, DirectHTTPError>) -> Void)?

    /// - Parameter done: called once, when the tunnel is open or the proxy refused.
    init(to origin: Origin, proxy: Proxy, done: @escaping (Result<Void, DirectHTTPError>) -> Void) {
        self.origin = origin
        self.proxy = proxy
        self.done = done
    }

    func handlerAdded(context: ChannelHandlerContext) {
        do {
            let handshake = try SOCKSHandshake(to: origin, user: proxy.user, password: proxy.password)
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: handshake.greeting)), promise: nil)
            self.handshake = handshake
        } catch {
            fail(error, context: context)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard done != nil else { return }
        do {
            switch try handshake?.receive(unwrapInboundIn(data).readableBytesView) {
            case .send(let bytes):
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
            case .done(let rest):
                finish(rest, context: context)
            case .wait, nil:
                break
            }
        } catch {
            fail(error, context: context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(DirectHTTPError(.proxyRefused, "closed the connection"), context: context)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(DirectHTTPError(.proxyRefused, "failed: \(error)", underlyingError: error), context: context)
    }

    private func finish(_ rest: [UInt8], context: ChannelHandlerContext) {
        // In TLS and HTTP the client speaks first, so bytes that arrive now are not from the origin.
        guard rest.isEmpty else {
            return fail(DirectHTTPError(.proxyRefused, "sent bytes before the tunnel was used"), context: context)
        }
        let done = done.take()
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        done?(.success(()))
    }

    private func fail(_ error: DirectHTTPError, context: ChannelHandlerContext) {
        var error = error
        error.message = "the proxy \(proxy) \(error.message)"
        done.take()?(.failure(error))
        context.close(promise: nil)
    }
}
