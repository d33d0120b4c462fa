// SPDX-License-Identifier: Apache-2.0

import NIOSSL

/// The client certificate for servers that request one (RFC 8446 §4.3.2): a chain, and the private key of its first certificate.
///
/// The key is a secret: `description` does not show it.
public struct ClientIdentity: Hashable, Sendable, CustomStringConvertible {
    /// The source of certificates or of a key.
    public enum Source: Hashable, Sendable {
        /// A PEM file. A chain is one file with several certificates, the client's own first.
        case pemFile(String)
        /// PEM text.
        case pem(String)
        /// A single certificate or key in DER.
        case der([UInt8])
    }

    /// The client's certificate, followed by intermediates.
    package var chain: Source
    /// The private key of the certificate.
    package var key: Source
    /// The passphrase of an encrypted PEM key; nil if the key is not encrypted.
    package var passphrase: String?

    /// Creates an identity. A PEM file with both certificate and key may be used for both parameters.
    ///
    /// Nothing is read here: a file that cannot be read, or a key that does not match, fails each connection with
    /// `tlsFailed`.
    ///
    /// - Parameters:
    ///   - chain: The client's certificate, then its issuers.
    ///   - key: The private key of the first certificate.
    ///   - passphrase: The passphrase of an encrypted PEM key; nil if the key is not encrypted.
    public init(chain: Source, key: Source, passphrase: String? = nil) {
        self.chain = chain
        self.key = key
        self.passphrase = passphrase
    }

    /// A fixed text, without secrets.
    public var description: String { "a client certificate" }

    var paths: [String] { [chain, key].compactMap(\.path) }

    /// Checks that the certificates and the key can be read and belong together, before a connection needs them.
    package func check() throws(DirectHTTPError) {
        let (chain, key) = try load()
        var configuration = TLSConfiguration.makeClientConfiguration()
        // The system's roots would take milliseconds.
        configuration.trustRoots = .certificates([])
        configuration.certificateChain = chain.map { .certificate($0) }
        configuration.privateKey = .privateKey(key)
        do {
            _ = try NIOSSLContext(configuration: configuration)
        } catch {
            guard error as? NIOSSLError == .failedToLoadPrivateKey else {
                throw DirectHTTPError(
                    .tlsFailed,
                    "the client certificate cannot be used: \(error)",
                    underlyingError: error
                )
            }
            throw mismatch(error)
        }
    }

    func load() throws(DirectHTTPError) -> (chain: [NIOSSLCertificate], key: NIOSSLPrivateKey) {
        let certificates = try Self.read(
            chain,
            as: "the client certificate",
            remedy: "write PEM, or one certificate in DER"
        ) {
            switch $0 {
            case .pemFile(let path): try NIOSSLCertificate.fromPEMFile(path)
            case .pem(let text): try NIOSSLCertificate.fromPEMBytes(Array(text.utf8))
            case .der(let bytes): [try NIOSSLCertificate(bytes: bytes, format: .der)]
            }
        }
        let secret = Array((passphrase ?? "").utf8)
        // Without a passphrase BoringSSL would prompt for one on the terminal.
        let callback: NIOSSLPassphraseCallback<[UInt8]> = { $0(secret) }
        let remedy = "write PEM or DER, and give the passphrase of an encrypted key"
        let key = try Self.read(key, as: "the client certificate's key", remedy: remedy) {
            switch $0 {
            case .pemFile(let path): try NIOSSLPrivateKey(file: path, format: .pem, passphraseCallback: callback)
            case .pem(let text):
                try NIOSSLPrivateKey(bytes: Array(text.utf8), format: .pem, passphraseCallback: callback)
            case .der(let bytes): try NIOSSLPrivateKey(bytes: bytes, format: .der)
            }
        }
        return (certificates, key)
    }

    private static func read<Value>(
        _ source: Source,
        as what: String,
        remedy: String,
        with read: (Source) throws -> Value
    ) throws(DirectHTTPError) -> Value {
        do {
            return try read(source)
        } catch {
            let reason = source.path.flatMap(TLSFault.objection(toFile:)) ?? remedy
            throw DirectHTTPError(
                .tlsFailed,
                "\(what)\(source.place) cannot be read: \(reason)",
                underlyingError: error
            )
        }
    }

    /// The error for a key that does not match the certificate.
    func mismatch(_ cause: any Error) -> DirectHTTPError {
        DirectHTTPError(
            .tlsFailed,
            "the client certificate's key\(key.place) does not match the first certificate\(chain.place): "
                + "the chain must begin with the client's own certificate",
            underlyingError: cause
        )
    }
}

extension ClientIdentity.Source {
    fileprivate var path: String? {
        if case .pemFile(let path) = self { path } else { nil }
    }

    /// The file's path for an error message. It never includes the content.
    fileprivate var place: String { path.map { " in \($0)" } ?? "" }
}
