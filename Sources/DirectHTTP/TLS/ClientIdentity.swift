// SPDX-License-Identifier: Apache-2.0

import NIOSSL

/// Who we are to a server that asks for a certificate (RFC 8446 §4.3.2): a chain and the private key of its first certificate.
///
/// The key is a secret: `description` does not show it.
public struct ClientIdentity: Hashable, Sendable, CustomStringConvertible {
    /// Where certificates or a key come from.
    public enum Source: Hashable, Sendable {
        /// A file in PEM form; a chain is several certificates in one file, the own one first.
        case pemFile(String)
        /// Text in PEM form.
        case pem(String)
        /// One certificate or key in DER form.
        case der([UInt8])
    }

    /// The own certificate, and the intermediates behind it.
    public var chain: Source
    /// Its private key.
    public var key: Source
    /// The passphrase of a key in encrypted PEM; nil where it is not encrypted.
    public var passphrase: String?

    /// An identity. One PEM file that holds certificate and key may be given for both.
    public init(chain: Source, key: Source, passphrase: String? = nil) {
        self.chain = chain
        self.key = key
        self.passphrase = passphrase
    }

    /// The kind of its sources.
    public var description: String { "a client certificate" }

    /// The files that it is read from.
    var paths: [String] { [chain, key].compactMap(\.path) }

    /// Reads chain and key.
    func load() throws(DirectHTTPError) -> (chain: [NIOSSLCertificate], key: NIOSSLPrivateKey) {
        let certificates = try Self.read(chain, "the client certificate", "write PEM, or one certificate in DER") {
            switch $0 {
            case .pemFile(let path): try NIOSSLCertificate.fromPEMFile(path)
            case .pem(let text): try NIOSSLCertificate.fromPEMBytes(Array(text.utf8))
            case .der(let bytes): [try NIOSSLCertificate(bytes: bytes, format: .der)]
            }
        }
        let secret = Array((passphrase ?? "").utf8)
        // Without a passphrase BoringSSL would ask for one on the terminal.
        let callback: NIOSSLPassphraseCallback<[UInt8]> = { $0(secret) }
        let remedy = "write PEM or DER, and give the right passphrase of one that is encrypted"
        let key = try Self.read(key, "the client certificate's key", remedy) {
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
        _ what: String,
        _ remedy: String,
        _ read: (Source) throws -> Value
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

    /// The error of a key that is another certificate's.
    func mismatch(_ cause: any Error) -> DirectHTTPError {
        DirectHTTPError(
            .tlsFailed,
            "the client certificate's key\(key.place) is not that of the first certificate\(chain.place): "
                + "a chain begins with the own one",
            underlyingError: cause
        )
    }
}

extension ClientIdentity.Source {
    fileprivate var path: String? {
        if case .pemFile(let path) = self { path } else { nil }
    }

    /// For an error: never what is in it.
    fileprivate var place: String { path.map { " in \($0)" } ?? "" }
}
