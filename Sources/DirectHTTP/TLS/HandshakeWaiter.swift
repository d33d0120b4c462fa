// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOSSL
import NIOTLS

/// Stands behind the TLS handler until the handshake ended, and tells how.
final class HandshakeWaiter: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private var done: ((Result<String?, DirectHTTPError>) -> Void)?

    /// - Parameter done: called once, with the protocol that ALPN chose.
    init(done: @escaping (Result<String?, DirectHTTPError>) -> Void) {
        self.done = done
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let negotiated)? = event as? TLSUserEvent, let done = done.take() {
            // What is added from here on stands at the end of the pipeline, and nothing in between.
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
            return done(.success(negotiated))
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        done.take()?(.failure(Self.explain(error)))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        done.take()?(.failure(DirectHTTPError(.tlsFailed, "closed the connection during the TLS handshake")))
        context.fireChannelInactive()
    }

    /// BoringSSL's words, sorted into those about the certificate and the rest.
    private static func explain(_ error: any Error) -> DirectHTTPError {
        if let error = error as? NIOSSLExtraError, error == .failedToValidateHostname {
            return DirectHTTPError(
                .certificateRejected,
                "showed a certificate for another name",
                underlyingError: error
            )
        }
        let text = String(describing: error)
        if text.contains("CERTIFICATE_VERIFY_FAILED") {
            return DirectHTTPError(
                .certificateRejected,
                "showed a certificate that nobody trusted vouches for, or that has expired",
                underlyingError: error
            )
        }
        let words = HandshakeFault.words(for: error)
        return DirectHTTPError(.tlsFailed, "failed the TLS handshake: \(words)", underlyingError: error)
    }
}
