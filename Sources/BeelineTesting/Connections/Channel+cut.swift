// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Marks the position next to the socket in a pipeline, so that a close can bypass the TLS handler.
final class CutHandler: ChannelInboundHandler, Sendable {
    typealias InboundIn = Any
}

extension Channel {
    /// Closes the socket without a TLS or HTTP/2 shutdown.
    func cut() -> EventLoopFuture<Void> {
        let promise = eventLoop.makePromise(of: Void.self)
        eventLoop.execute {
            do {
                try self.pipeline.syncOperations.context(handlerType: CutHandler.self).close(promise: promise)
            } catch {
                // The pipeline is gone, so the socket is closed.
                promise.succeed()
            }
        }
        return promise.futureResult
    }

    /// Makes the next close send a reset (RST) by setting the linger time to zero.
    func resetAtClose() -> EventLoopFuture<Void> {
        guard let socket = self as? any SocketOptionProvider else { return eventLoop.makeSucceededVoidFuture() }
        return socket.unsafeSetSocketOption(level: .socket, name: .so_linger, value: Linger())
    }
}

/// `struct linger` of POSIX: two C ints on every platform. The C type is not usable here, because NIO imports it from a module
/// that is not a product.
private struct Linger: Sendable {
    let isOn: CInt = 1
    let seconds: CInt = 0
}
