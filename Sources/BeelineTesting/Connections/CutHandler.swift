// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Marks the end of a pipeline that is next to the socket, so that a close can be sent past the TLS handler.
final class CutHandler: ChannelInboundHandler, Sendable {
    typealias InboundIn = Any
}

extension Channel {
    /// Closes the socket without a word to TLS or HTTP/2.
    func cut() -> EventLoopFuture<Void> {
        let promise = eventLoop.makePromise(of: Void.self)
        eventLoop.execute {
            do {
                try self.pipeline.syncOperations.context(handlerType: CutHandler.self).close(promise: promise)
            } catch {
                // The pipeline is gone, and with it the socket.
                promise.succeed()
            }
        }
        return promise.futureResult
    }
}
