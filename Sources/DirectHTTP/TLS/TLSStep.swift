// SPDX-License-Identifier: Apache-2.0

import NIOSSL
import Names
import TLSInternals

/// TLS with one peer: the server name that is sent, and the checks of its certificate.
struct TLSStep: Sendable {
    private let tls: TLSContext
    private let settings: TLSSettings
    private let host: Host
    /// The prefix of error messages. It is empty for the origin, whose endpoint the error names anyway.
    private let peer: String

    init(_ settings: TLSSettings, host: Host, contexts: TLSContexts, peer: String) throws(DirectHTTPError) {
        self.settings = settings
        self.host = host
        self.peer = peer
        tls = try contexts.context(for: settings, checksName: host.address == nil)
    }

    var context: NIOSSLContext { tls.context }

    /// The name for SNI and for NIOSSL's own check; nil if the host is an address, which SNI does not allow (RFC 6066 §3).
    var serverName: String? {
        guard host.address == nil else { return nil }
        return host.hasTrailingDot ? String(host.text.dropLast()) : host.text
    }

    /// Removes the peer's sessions after a failed handshake, which they may have caused.
    func forgetSessions() { if let serverName { tls.sessions?.forget(serverName) } }

    /// The checks that NIOSSL does not do (see ``CertificateName``), for a certificate whose chain is trusted. Returns nil if
    /// they pass.
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
