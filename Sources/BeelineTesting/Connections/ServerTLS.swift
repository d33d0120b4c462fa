// SPDX-License-Identifier: Apache-2.0

import NIOCore
public import NIOSSL

/// The TLS settings of a loopback server, which selects its certificate by the client's server name.
///
/// ```swift
/// let tls = ServerTLS(try authority.certificate(for: "a.test"), try authority.certificate(for: "b.test"))
/// ```
///
/// If no certificate covers the name, or the client sends none, the server uses the first certificate, as most servers do.
public struct ServerTLS: Sendable {
    /// The certificates, at least one. The first that covers the name is used, else the first.
    public var certificates: [TestCertificate]
    /// The protocols to offer by ALPN, best first; empty: none. A ``LoopbackOrigin`` uses HTTP/2 on a connection that
    /// negotiates `h2`.
    public var applicationProtocols: [String] = ["http/1.1"]
    /// The lowest TLS version. Default 1.2.
    public var minVersion: TLSVersion = .tlsv12
    /// The highest TLS version; nil: the highest supported.
    public var maxVersion: TLSVersion?
    /// The authority that must have signed the client's certificate; nil: no client certificate is requested.
    public var clientAuthority: TestAuthority?

    /// The key for Encrypted Client Hello; nil: none. The certificate is still selected by the outer server name.
    package var ech: ServerECH?

    /// Creates settings with these certificates.
    public init(_ certificates: TestCertificate...) {
        self.certificates = certificates
    }

    /// Creates a context for each certificate. Called once for each server.
    func contexts() throws -> ServerTLSContexts {
        guard !certificates.isEmpty else {
            throw TestingError(.unscripted, "ServerTLS needs at least one certificate")
        }
        return ServerTLSContexts(
            entries: try certificates.map { certificate in
                var configuration = TLSConfiguration.makeServerConfiguration(
                    certificateChain: certificate.chain.map { .certificate($0) },
                    privateKey: .privateKey(certificate.key)
                )
                configuration.applicationProtocols = applicationProtocols
                configuration.minimumTLSVersion = minVersion
                configuration.maximumTLSVersion = maxVersion
                // A client that does not answer `close_notify` must not delay a test.
                configuration.shutdownTimeout = .seconds(1)
                if let clientAuthority {
                    configuration.certificateVerification = .noHostnameVerification
                    configuration.trustRoots = clientAuthority.trustRoots
                }
                let context = try NIOSSLContext(configuration: configuration)
                try ech?.attach(context)
                return (certificate, context)
            }
        )
    }
}

/// The contexts of a server, selected by server name.
struct ServerTLSContexts: Sendable {
    let entries: [(certificate: TestCertificate, context: NIOSSLContext)]

    func context(for name: String?) -> NIOSSLContext {
        let match = name.flatMap { name in entries.first { $0.certificate.covers(name) } }
        return (match ?? entries[0]).context
    }
}
