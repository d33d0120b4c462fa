// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOSSL
import TLSInternals

struct TLSContext: Sendable {
    let context: NIOSSLContext
    /// The sessions of its connections; nil if session resumption is off.
    let sessions: TLSSessions?

    init(_ settings: TLSSettings, _ configuration: TLSConfiguration) throws {
        context = try NIOSSLContext(configuration: configuration)
        sessions = settings.resumesSessions ? TLSSessions(of: context) : nil
    }
}

/// Caches a context for each recently used settings value. One with the system's roots costs megabytes.
final class TLSContexts: Sendable {
    /// A context that is created once. Its lock is held while files are read, which may be slow, so that only callers of the same
    /// settings wait and the work is done once.
    private typealias Entry = NIOLockedValueBox<TLSContext?>

    private let table = NIOLockedValueBox(Table())
    /// The maximum number of cached contexts. It bounds memory, and how long their keys are kept.
    static let maxContexts = 32

    private struct Table {
        var contexts: [Key: (entry: Entry, lastUse: Int)] = [:]
        var uses = 0

        /// The entry of a key, marked as used. A new entry evicts the least recently used one.
        mutating func entry(_ key: Key) -> Entry {
            uses += 1
            let known = contexts[key]?.entry
            if known == nil, contexts.count >= maxContexts,
                let oldest = contexts.min(by: { $0.value.lastUse < $1.value.lastUse })
            {
                contexts[oldest.key] = nil
            }
            let entry = known ?? Entry(nil)
            contexts[key] = (entry, uses)
            return entry
        }
    }

    /// The number of cached contexts.
    var count: Int { table.withLockedValue { $0.contexts.count } }

    private struct Key: Hashable {
        var settings: TLSSettings
        var checksName: Bool
        /// Detects a renewed certificate at the same path.
        var files: [FileStamp?]

        init(_ settings: TLSSettings, _ checksName: Bool) {
            self.settings = settings
            self.checksName = checksName
            // Pins are checked elsewhere, and ECH is set for each connection. They do not affect the context.
            self.settings.pins = []
            self.settings.ech = .off
            self.settings.sendsECHGrease = false
            files = (settings.rootFiles + (settings.identity?.paths ?? [])).map { FileStamp($0) }
        }
    }

    /// - Parameter checksName: whether the peer is identified by a name. For an address, NIOSSL would check the dialled address,
    ///   which may be a proxy's; ``TLSStep`` checks the host's address instead.
    func context(for settings: TLSSettings, checksName: Bool) throws(DirectHTTPError) -> TLSContext {
        let key = Key(settings, checksName)
        do {
            let entry = table.withLockedValue { $0.entry(key) }
            return try entry.withLockedValue { made in
                let context = try made ?? TLSContext(settings, Self.configuration(settings, checksName))
                made = context
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

    /// BoringSSL's own list, which is made for the public web, and those of P-521 and Ed25519 keys.
    private static let signatureAlgorithms: [SignatureAlgorithm] = [
        .ecdsaSecp256R1Sha256, .rsaPssRsaeSha256, .rsaPkcs1Sha256,
        .ecdsaSecp384R1Sha384, .rsaPssRsaeSha384, .rsaPkcs1Sha384,
        .ecdsaSecp521R1Sha512, .rsaPssRsaeSha512, .rsaPkcs1Sha512,
        .ed25519, .rsaPkcs1Sha1,
    ]

    static func configuration(_ settings: TLSSettings, _ checksName: Bool = true) throws -> TLSConfiguration {
        // BoringSSL would not begin the handshake, and NIOSSL would not report that.
        if let max = settings.maxVersion, max < settings.minVersion {
            throw DirectHTTPError(.tlsFailed, "TLSSettings.maxVersion is lower than TLSSettings.minVersion")
        }
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = settings.minVersion.library
        configuration.maximumTLSVersion = settings.maxVersion?.library
        if !settings.cipherSuites.isEmpty {
            configuration.cipherSuites = settings.cipherSuites.map(\.rawValue).joined(separator: ":")
        }
        configuration.verifySignatureAlgorithms = signatureAlgorithms
        if !settings.groups.isEmpty { configuration.curves = settings.groups.map(\.library) }
        configuration.certificateVerification =
            !settings.verifiesCertificate ? .none : checksName ? .fullVerification : .noHostnameVerification
        if let identity = settings.identity {
            let (chain, key) = try identity.load()
            configuration.certificateChain = chain.map { .certificate($0) }
            configuration.privateKey = .privateKey(key)
        }
        configuration.applicationProtocols = settings.applicationProtocols
        if let path = settings.keyLogFile {
            let file = try KeyLogFile(path)
            configuration.keyLogCallback = { file.append($0) }
        }
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
        for folder in settings.rootFolders { roots += try RootFolder.certificates(in: folder) }
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
