// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOTLS

/// Waits behind the TLS handler until the handshake ends, then lets `onCompletion` add the protocol's handlers and removes
/// itself.
final class HandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    /// Adds the handlers of the protocol that ALPN negotiated. Called once, on the event loop.
    private var onCompletion: ((ChannelHandlerContext, String?) throws -> Void)?
    /// Called once if the handshake fails.
    private var onFailure: ((any Error) -> Void)?

    init(
        onCompletion: @escaping (ChannelHandlerContext, String?) throws -> Void,
        onFailure: @escaping (any Error) -> Void
    ) {
        self.onCompletion = onCompletion
        self.onFailure = onFailure
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let name)? = event as? TLSUserEvent, let onCompletion {
            self.onCompletion = nil
            do {
                try onCompletion(context, name)
                onFailure = nil
                context.pipeline.syncOperations.removeHandler(self, promise: nil)
            } catch {
                fail(error)
                context.close(promise: nil)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(TestingError(.closed, "the client closed during the TLS handshake"))
        context.fireChannelInactive()
    }

    private func fail(_ error: any Error) {
        onFailure?(error)
        onFailure = nil
    }
}
