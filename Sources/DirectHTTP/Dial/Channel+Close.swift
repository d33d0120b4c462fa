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

    /// Closes the socket at once, after TLS's closing alert if there is TLS (RFC 8446 §6.1). The peer's alert is not awaited. No
    /// alert is sent if the peer has ended TLS first. On the event loop.
    func closeWithAlert() {
        let tls = try? pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
        if isActive, tls != nil { close(mode: .output, promise: nil) }
        closeTransport()
    }
}
