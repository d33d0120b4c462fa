// SPDX-License-Identifier: Apache-2.0

package import NIOCore
import NIOSSL

extension Channel {
    /// Closes the socket at once, without sending TLS's closing alert and without waiting for the peer's. On the event loop.
    package func closeTransport() {
        if let tls = try? pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self) {
            tls.close(promise: nil)
        } else {
            close(promise: nil)
        }
    }
}

extension ChannelHandlerContext {
    /// Closes the socket as ``NIOCore/Channel/closeTransport()`` does.
    func closeTransport() { channel.closeTransport() }
}
