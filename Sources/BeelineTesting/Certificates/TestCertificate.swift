// SPDX-License-Identifier: Apache-2.0

import Crypto
public import NIOSSL
import SwiftASN1
import X509

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A certificate with its key, signed by a ``TestAuthority``.
public struct TestCertificate: Sendable {
    /// The names it is for, as they were asked for; the first one names it in messages.
    public let names: [String]
    /// What a server sends: the certificate alone, because the root that signed it is known to whoever trusts it.
    public let chain: [NIOSSLCertificate]
    /// The private key.
    public let key: NIOSSLPrivateKey
    /// ``chain`` in PEM.
    public let chainPEM: String
    /// ``key`` in PEM (PKCS #8).
    public let keyPEM: String
    /// SHA-256 of the DER form of the public key (its SubjectPublicKeyInfo), as pins are written (RFC 7469 §2.4).
    public let publicKeyHash: [UInt8]

    init(names: [String], certificate: Certificate, key: P256.Signing.PrivateKey) throws {
        self.names = names
        chainPEM = try certificate.serializeAsPEM().pemString + "\n"
        keyPEM = key.pemRepresentation + "\n"
        chain = [try NIOSSLCertificate(bytes: Array(chainPEM.utf8), format: .pem)]
        self.key = try NIOSSLPrivateKey(bytes: Array(keyPEM.utf8), format: .pem)
        publicKeyHash = Array(SHA256.hash(data: key.publicKey.derRepresentation))
    }

    /// Whether the certificate covers a server name: exactly, or by a wildcard in the first label (RFC 9525 §6.3).
    public func covers(_ name: String) -> Bool {
        let name = name.lowercased()
        return names.contains { pattern in
            let pattern = pattern.lowercased()
            guard pattern.hasPrefix("*.") else { return pattern == name }
            guard let dot = name.firstIndex(of: ".") else { return false }
            return name[dot...] == pattern.dropFirst()
        }
    }

    /// Writes chain and key as PEM files for servers that are programs of their own, such as nginx.
    ///
    /// - Parameters:
    ///   - directory: where to; it must exist.
    ///   - stem: the files' name before `.pem` and `.key`.
    /// - Returns: the two paths. The key's file is readable for its owner only.
    public func write(to directory: String, stem: String = "server") throws -> (chain: String, key: String) {
        let chainPath = "\(directory)/\(stem).pem"
        let keyPath = "\(directory)/\(stem).key"
        try Data(chainPEM.utf8).write(to: URL(fileURLWithPath: chainPath))
        try Data(keyPEM.utf8).write(to: URL(fileURLWithPath: keyPath))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: keyPath)
        return (chainPath, keyPath)
    }
}
