// SPDX-License-Identifier: Apache-2.0

import NIOSSL
import Names

/// TLS with one named peer: what is sent as its name, and what its certificate must be like.
struct TLSStep: Sendable {
    private let tls: TLSContext
    private let settings: TLSSettings
    private let host: Host
    /// How an error calls the peer: nothing for the origin, whose endpoint the error names anyway.
    private let peer: String

    init(_ settings: TLSSettings, _ host: Host, _ contexts: TLSContexts, peer: String) throws(DirectHTTPError) {
        self.settings = settings
        self.host = host
        self.peer = peer
        tls = try contexts.context(for: settings, checksName: host.address == nil)
    }

    var context: NIOSSLContext { tls.context }

    /// The name for SNI and NIOSSL's own check; nil where the host is an address, which has no place in SNI (RFC 6066 §3).
    var serverName: String? {
        guard host.address == nil else { return nil }
        return host.hasTrailingDot ? String(host.text.dropLast()) : host.text
    }

    /// The handshake failed: what the peer gave before may be why.
    func forgetSessions() {
        if let serverName { tls.sessions?.forget(serverName) }
    }

    /// What is wrong with a certificate that a trusted authority has signed. These are the checks that NIOSSL leaves open, see
    /// ``CertificateName``.
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
                    + "\(pins.count) pinned for \(host): somebody listens in, or the pins are out of date"
            )
        }
        return nil
    }

    /// The error with the peer's name in it.
    func blame(_ error: DirectHTTPError) -> DirectHTTPError {
        var error = error
        error.message = peer + error.message
        return error
    }
}
