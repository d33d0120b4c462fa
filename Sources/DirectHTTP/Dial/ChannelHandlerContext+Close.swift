// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOSSL

extension Channel {
    /// Closes the socket at once, though TLS may have begun: without its closing alert, and without a wait for the peer's. On the
    /// event loop.
    func closeTransport() {
        if let tls = try? pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self) {
            tls.close(promise: nil)
        } else {
            close(promise: nil)
        }
    }
}

extension ChannelHandlerContext {
    /// Closes the socket without waiting for the peer's side of TLS: a socket that nobody needs is freed at once.
    func closeTransport() {
        if let tls = try? pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self) {
            tls.close(promise: nil)
        } else {
            close(promise: nil)
        }
    }
}
