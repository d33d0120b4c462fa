// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOSSL
import NIOTLS

/// Waits behind the TLS handler for the end of the handshake, and reports its result.
final class HandshakeWaiter: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let handler: NIOSSLClientHandler
    private var done: ((Result<String?, DirectHTTPError>) -> Void)?

    /// - Parameter done: called once, with the protocol that ALPN selected.
    init(for handler: NIOSSLClientHandler, done: @escaping (Result<String?, DirectHTTPError>) -> Void) {
        self.handler = handler
        self.done = done
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let negotiated)? = event as? TLSUserEvent, let done = done.take() {
            // Remove this handler first, so that handlers added by `done` go to the end of the pipeline.
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
            return done(.success(negotiated))
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        done.take()?(.failure(explain(error)))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        done.take()?(.failure(DirectHTTPError(.tlsFailed, "closed the connection during the TLS handshake")))
        context.fireChannelInactive()
    }

    /// Maps BoringSSL's error to a rejected certificate or another TLS failure.
    private func explain(_ error: any Error) -> DirectHTTPError {
        if let error = error as? NIOSSLExtraError, error == .failedToValidateHostname {
            return DirectHTTPError(
                .certificateRejected,
                "showed a certificate for another name",
                underlyingError: error
            )
        }
        guard String(describing: error).contains("CERTIFICATE_VERIFY_FAILED") else {
            let text = TLSFault.explain(error)
            return DirectHTTPError(.tlsFailed, "failed the TLS handshake: \(text)", underlyingError: error)
        }
        let objection = handler.peerCertificate.flatMap { TLSFault.objection(toDatesOf: $0) }
        return DirectHTTPError(
            .certificateRejected,
            "showed a certificate that \(objection ?? "no trusted issuer signed")",
            underlyingError: error
        )
    }
}
