// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOSSL

/// A BoringSSL context.
struct TLSContext: Sendable {
    let context: NIOSSLContext
    /// The sessions of its connections; nil where they resume nothing.
    let sessions: TLSSessions?

    init(_ settings: TLSSettings, _ configuration: TLSConfiguration) throws {
        context = try NIOSSLContext(configuration: configuration)
        sessions = settings.resumesSessions ? TLSSessions(of: context) : nil
    }
}

/// One context for each setting: with the system's roots it costs megabytes and milliseconds, so it is made once
/// and shared by all origins.
final class TLSContexts: Sendable {
    /// Guards the table; a context is made under it so that two callers never pay twice.
    private let contexts = NIOLockedValueBox<[Key: TLSContext]>([:])

    private struct Key: Hashable {
        var settings: TLSSettings
        var checksName: Bool
    }

    /// - Parameter checksName: whether the peer has a name. Where it has only an address NIOSSL would check the address that was
    ///   dialled, which may be a proxy's; ``TLSStep`` checks the right one.
    func context(for settings: TLSSettings, checksName: Bool) throws(DirectHTTPError) -> TLSContext {
        var key = Key(settings: settings, checksName: checksName)
        // Pins are checked elsewhere and make no difference here.
        key.settings.pins = []
        do {
            return try contexts.withLockedValue { contexts in
                if let known = contexts[key] { return known }
                let context = try TLSContext(settings, Self.configuration(settings, checksName))
                contexts[key] = context
                return context
            }
        } catch let error as DirectHTTPError {
            throw error
        } catch {
            if let identity = settings.identity, error as? NIOSSLError == .failedToLoadPrivateKey {
                throw identity.mismatch(error)
            }
            throw DirectHTTPError(.tlsFailed, "TLS cannot be set up: \(error)", underlyingError: error)
        }
    }

    static func configuration(_ settings: TLSSettings, _ checksName: Bool = true) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = settings.minimumVersion == .tls13 ? .tlsv13 : .tlsv12
        configuration.certificateVerification =
            !settings.verifiesCertificate ? .none : checksName ? .fullVerification : .noHostnameVerification
        if let identity = settings.identity {
            let (chain, key) = try identity.load()
            configuration.certificateChain = chain.map { .certificate($0) }
            configuration.privateKey = .privateKey(key)
        }
        configuration.applicationProtocols = settings.offersHTTP2 ? ["h2", "http/1.1"] : ["http/1.1"]
        var roots: [NIOSSLCertificate] = []
        for file in settings.rootFiles {
            do {
                roots += try NIOSSLCertificate.fromPEMFile(file)
            } catch {
                let reason = TLSFault.objection(toFile: file) ?? "write a PEM file"
                throw unreadable("in \(file) cannot be read: \(reason)", error)
            }
        }
        for text in settings.rootPEMs {
            do {
                roots += try NIOSSLCertificate.fromPEMBytes(Array(text.utf8))
            } catch {
                throw unreadable("of TLSSettings.rootPEMs cannot be read: write PEM", error)
            }
        }
        if settings.trustsSystemRoots {
            configuration.trustRoots = .default
            configuration.additionalTrustRoots = roots.isEmpty ? [] : [.certificates(roots)]
        } else {
            configuration.trustRoots = .certificates(roots)
        }
        return configuration
    }

    private static func unreadable(_ what: String, _ cause: any Error) -> DirectHTTPError {
        DirectHTTPError(.tlsFailed, "the root certificates \(what)", underlyingError: cause)
    }
}
