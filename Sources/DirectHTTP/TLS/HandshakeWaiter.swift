// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOSSL
import NIOTLS

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Stands behind the TLS handler until the handshake ended, and tells how.
final class HandshakeWaiter: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let handler: NIOSSLClientHandler
    private var done: ((Result<String?, DirectHTTPError>) -> Void)?

    /// - Parameters:
    ///   - handler: the TLS handler.
    ///   - done: called once, with the protocol that ALPN chose.
    init(for handler: NIOSSLClientHandler, done: @escaping (Result<String?, DirectHTTPError>) -> Void) {
        self.handler = handler
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
        done.take()?(.failure(explain(error)))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        done.take()?(.failure(DirectHTTPError(.tlsFailed, "closed the connection during the TLS handshake")))
        context.fireChannelInactive()
    }

    /// BoringSSL's words, sorted into those about the certificate and the rest.
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
        let objection = handler.peerCertificate.flatMap { TLSFault.objection(toDatesOf: $0, now: time(nil)) }
        return DirectHTTPError(
            .certificateRejected,
            "showed a certificate that \(objection ?? "nobody trusted vouches for")",
            underlyingError: error
        )
    }
}
