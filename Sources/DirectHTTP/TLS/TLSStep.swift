// SPDX-License-Identifier: Apache-2.0

import NIOSSL
import Names
import TLSInternals

/// TLS with one peer: the server name that is sent, and the checks of its certificate.
struct TLSStep: Sendable {
    private let tls: TLSContext
    private let contexts: TLSContexts
    let settings: TLSSettings
    private let host: Host
    /// The name for SNI and for NIOSSL's own check; nil if the host is an address or not a name of DNS, which SNI does not
    /// allow (RFC 6066 §3). ``objection(to:)`` checks the certificate for such a host.
    let serverName: String?
    /// The prefix of error messages. It is empty for the origin, whose endpoint the error names anyway.
    private let peer: String

    init(_ settings: TLSSettings, host: Host, contexts: TLSContexts, peer: String) throws(DirectHTTPError) {
        self.settings = settings
        self.host = host
        self.peer = peer
        self.contexts = contexts
        serverName = host.dnsName
        tls = try contexts.context(for: settings, checksName: serverName != nil)
    }

    var isOrigin: Bool { peer.isEmpty }

    /// Whether the peer is the origin and has a name, which ECH can encrypt.
    var mayEncryptHello: Bool { isOrigin && serverName != nil }

    /// The context of a connection.
    ///
    /// - Parameter offersECH: whether the ClientHello is encrypted. On Apple's platforms, NIOSSL lets Security verify
    ///   the certificate for the server name. But a server that rejects ECH shows a certificate for the public name. So
    ///   Security then verifies only the chain, and ``objection(to:)`` or ``ECHHandshake`` checks the name.
    func context(offersECH: Bool) throws(DirectHTTPError) -> TLSContext {
        #if canImport(Darwin)
        if offersECH, settings.trustsSystemRoots { return try contexts.context(for: settings, checksName: false) }
        #endif
        return tls
    }

    /// Removes the peer's sessions after a failed handshake, because they may have caused the failure.
    func forgetSessions(of tls: TLSContext) { if let serverName { tls.sessions?.forget(serverName) } }

    /// The checks that NIOSSL does not do (see ``CertificateName``), after its check of the chain; nil if they pass.
    func objection(to certificate: NIOSSLCertificate?) -> DirectHTTPError? {
        if settings.verifiesCertificate {
            guard let certificate, CertificateName.covers(certificate, host) else {
                return DirectHTTPError(.certificateRejected, "\(peer)showed a certificate that is not for \(host)")
            }
        }
        guard let pins = settings.pins(for: host) else { return nil }
        let key = certificate.flatMap(PublicKeyPin.init(of:))
        guard let key, pins.contains(key) else {
            return DirectHTTPError(
                .pinMismatch,
                "\(peer)showed a certificate whose public key \(key.map { "\($0)" } ?? "cannot be read and") is none of the "
                    + "\(pins.count) pinned for \(host): the connection is intercepted, or the pins are out of date"
            )
        }
        return nil
    }

    /// Adds the peer's name to an error.
    func blame(_ error: DirectHTTPError) -> DirectHTTPError {
        var error = error
        error.message = peer + error.message
        return error
    }
}
