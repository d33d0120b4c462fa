// SPDX-License-Identifier: Apache-2.0

import NIOSSL
import TLSInternals

/// ECH in one TLS handshake. Must be used on the event loop of the connection.
///
/// After a rejection, BoringSSL verifies the certificate for the public name instead of the server name. On Apple's
/// platforms, Security may verify it instead and checks only the chain (see ``TLSStep``), so this type checks the public
/// name everywhere. The certificate is not the origin's, so the origin's pins and name are not checked.
struct ECHHandshake {
    private let plan: ECHPlan
    /// Nil if the ClientHello has no ECH extension.
    private let connection: ECHConnection?
    private let handler: NIOSSLClientHandler
    private let verifiesCertificate: Bool

    /// Prepares the handshake of a handler.
    ///
    /// - Throws: ``DirectHTTPError`` with code `echFailed` if ECH is required and cannot be offered.
    init(_ plan: ECHPlan, on handler: NIOSSLClientHandler, settings: TLSSettings) throws(DirectHTTPError) {
        self.plan = plan
        self.handler = handler
        verifiesCertificate = settings.verifiesCertificate
        switch plan.offer {
        case .nothing:
            connection = nil
        case .grease:
            // If no grease can be sent, continue without it.
            connection = ECHConnection(of: handler)
            _ = connection?.sendGrease()
        case .list(let list):
            let connection = ECHConnection(of: handler)
            guard connection?.offer(list.bytes) ?? false else {
                throw DirectHTTPError(
                    .echFailed,
                    "cannot use ECH: this version of swift-nio-ssl does not support it"
                )
            }
            self.connection = connection
        }
        if plan.isRequired, !offersList {
            throw DirectHTTPError(.echFailed, "has no ECH configuration, and ECH is required")
        }
    }

    /// Whether the server name is encrypted.
    private var offersList: Bool { if case .list = plan.offer { true } else { false } }

    /// The outcome of a completed handshake.
    func outcome() throws(DirectHTTPError) -> ECHOutcome {
        let isAccepted = offersList && connection?.isAccepted ?? false
        guard isAccepted || !offersList else { throw DirectHTTPError(.echFailed, "did not accept ECH") }
        return plan.outcome(isAccepted: isAccepted)
    }

    /// Explains a failed handshake. A rejection by a verified server becomes the error's ``DirectHTTPError/echRejection``.
    func explain(_ error: DirectHTTPError) -> DirectHTTPError {
        guard case .list(let list) = plan.offer, let connection else { return error }
        var error = error
        guard connection.isRejected else {
            if error.code == .tlsFailed { error.message += ", with ECH for the public name \(list.publicName)" }
            return error
        }
        let isRejection = error.underlyingError.map(TLSFault.isECHRejection) ?? false
        // BoringSSL reports a wrong name as a certificate that it does not trust.
        let isNamed = handler.peerCertificate.map { CertificateName.covers($0, list.publicName) }
        let isMisnamed = isRejection ? isNamed != true : error.code == .certificateRejected && isNamed == false
        if verifiesCertificate, isMisnamed {
            error.code = .certificateRejected
            error.message = "rejected ECH with a certificate that is not for the public name \(list.publicName)"
            return error
        }
        guard isRejection else {
            error.message =
                "rejected ECH and failed the handshake for the public name \(list.publicName): \(error.message)"
            return error
        }
        guard verifiesCertificate else {
            error.code = .echFailed
            error.message =
                "rejected ECH; its retry configurations are not used, because its certificate is not verified"
            return error
        }
        error.code = .echFailed
        error.message = "rejected ECH"
        error.echRejection = ECHPlan.Rejection(
            publicName: list.publicName,
            retryConfigurations: connection.retryConfigurations
        )
        return error
    }
}
