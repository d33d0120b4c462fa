// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOSSL

/// One BoringSSL context for each setting: with the system's roots it costs megabytes and milliseconds, so it is made once
/// and shared by all origins.
final class TLSContexts: Sendable {
    /// Guards the table; a context is made under it so that two callers never pay twice.
    private let contexts = NIOLockedValueBox<[TLSSettings: NIOSSLContext]>([:])

    func context(for settings: TLSSettings) throws(DirectHTTPError) -> NIOSSLContext {
        do {
            return try contexts.withLockedValue { contexts in
                if let known = contexts[settings] { return known }
                let context = try NIOSSLContext(configuration: Self.configuration(settings))
                contexts[settings] = context
                return context
            }
        } catch let error as DirectHTTPError {
            throw error
        } catch {
            throw DirectHTTPError(.tlsFailed, "TLS cannot be set up: \(error)", underlyingError: error)
        }
    }

    static func configuration(_ settings: TLSSettings) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = settings.minimumVersion == .tls13 ? .tlsv13 : .tlsv12
        configuration.certificateVerification = settings.verifiesCertificate ? .fullVerification : .none
        configuration.applicationProtocols = settings.offersHTTP2 ? ["h2", "http/1.1"] : ["http/1.1"]
        var roots: [NIOSSLCertificate] = []
        for file in settings.rootFiles {
            do {
                roots += try NIOSSLCertificate.fromPEMFile(file)
            } catch {
                throw DirectHTTPError(
                    .tlsFailed,
                    "the root certificates in \(file) cannot be read: write a PEM file",
                    underlyingError: error
                )
            }
        }
        for text in settings.rootPEMs {
            roots += try NIOSSLCertificate.fromPEMBytes(Array(text.utf8))
        }
        if settings.trustsSystemRoots {
            configuration.trustRoots = .default
            configuration.additionalTrustRoots = roots.isEmpty ? [] : [.certificates(roots)]
        } else {
            configuration.trustRoots = .certificates(roots)
        }
        return configuration
    }
}
