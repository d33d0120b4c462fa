// SPDX-License-Identifier: Apache-2.0

import NIOCore
public import NIOSSL

/// The TLS side of a loopback server: certificates that are chosen by the client's server name.
///
/// ```swift
/// let tls = ServerTLS(try authority.certificate(for: "a.test"), try authority.certificate(for: "b.test"))
/// ```
///
/// A client that asks for a name which no certificate covers, or for none at all, is shown the first certificate, as
/// most servers do.
public struct ServerTLS: Sendable {
    /// The certificates, at least one; the first covering one is taken, else the first.
    public var certificates: [TestCertificate]
    /// The protocols offered by ALPN, best first; empty: none is offered. A ``LoopbackOrigin`` speaks HTTP/2 on a
    /// connection that settles on `h2`.
    public var applicationProtocols: [String] = ["http/1.1"]
    /// The lowest version.
    public var minimumVersion: TLSVersion = .tlsv12
    /// The highest version; nil: the highest that is known.
    public var maximumVersion: TLSVersion?
    /// The authority whose certificate a client must show; nil: none is asked for.
    public var clientAuthority: TestAuthority?

    /// TLS with these certificates.
    public init(_ certificates: TestCertificate...) {
        self.certificates = certificates
    }

    /// A context for each certificate, made once for a server.
    func contexts() throws -> TLSContexts {
        guard !certificates.isEmpty else {
            throw TestingError(.unscripted, "ServerTLS needs at least one certificate")
        }
        return TLSContexts(
            entries: try certificates.map { certificate in
                var configuration = TLSConfiguration.makeServerConfiguration(
                    certificateChain: certificate.chain.map { .certificate($0) },
                    privateKey: .privateKey(certificate.key)
                )
                configuration.applicationProtocols = applicationProtocols
                configuration.minimumTLSVersion = minimumVersion
                configuration.maximumTLSVersion = maximumVersion
                // A client that does not answer the close_notify must not hold up a test.
                configuration.shutdownTimeout = .seconds(1)
                if let clientAuthority {
                    configuration.certificateVerification = .noHostnameVerification
                    configuration.trustRoots = clientAuthority.trustRoots
                }
                return (certificate, try NIOSSLContext(configuration: configuration))
            }
        )
    }
}

/// The contexts of a server, to choose from by name.
struct TLSContexts: Sendable {
    let entries: [(certificate: TestCertificate, context: NIOSSLContext)]

    func context(for name: String?) -> NIOSSLContext {
        let match = name.flatMap { name in entries.first { $0.certificate.covers(name) } }
        return (match ?? entries[0]).context
    }
}
