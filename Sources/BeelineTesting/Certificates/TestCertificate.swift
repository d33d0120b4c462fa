// SPDX-License-Identifier: Apache-2.0

import Crypto
package import NIOSSL
import SwiftASN1
import X509

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A certificate and its key, signed by a ``TestAuthority``.
public struct TestCertificate: Sendable {
    /// The requested names. Messages show the first one.
    package let names: [String]
    /// The certificates that a server sends. Contains the leaf only; clients already have the root.
    package let chain: [NIOSSLCertificate]
    /// The private key.
    package let key: NIOSSLPrivateKey
    /// The certificate and those of its issuers, without the root, in PEM.
    public let chainPEM: String
    /// The key in PEM (PKCS #8).
    public let keyPEM: String
    /// The SHA-256 hash of the DER-encoded public key (SubjectPublicKeyInfo), as used in pins (RFC 7469 §2.4).
    package let publicKeyHash: [UInt8]

    init(names: [String], certificate: Certificate, key: Certificate.PrivateKey) throws {
        self.names = names
        chainPEM = try certificate.serializeAsPEM().pemString + "\n"
        keyPEM = try key.serializeAsPEM().pemString + "\n"
        chain = [try NIOSSLCertificate(bytes: Array(chainPEM.utf8), format: .pem)]
        self.key = try NIOSSLPrivateKey(bytes: Array(keyPEM.utf8), format: .pem)
        publicKeyHash = Array(SHA256.hash(data: try chain[0].extractPublicKey().toSPKIBytes()))
    }

    /// Whether the certificate covers a server name, exactly or by a wildcard in the first label (RFC 9525 §6.3).
    package func covers(_ name: String) -> Bool {
        let name = name.lowercased()
        return names.contains { pattern in
            let pattern = pattern.lowercased()
            guard pattern.hasPrefix("*.") else { return pattern == name }
            guard let dot = name.firstIndex(of: ".") else { return false }
            return name[dot...] == pattern.dropFirst()
        }
    }

    /// Writes chain and key as PEM files for external servers such as nginx.
    ///
    /// - Parameters:
    ///   - directory: The directory; it must exist.
    ///   - stem: The file name before `.pem` and `.key`.
    /// - Returns: The two paths. Only the owner can read the key file.
    package func write(to directory: String, stem: String = "server") throws -> (chain: String, key: String) {
        let chainPath = "\(directory)/\(stem).pem"
        let keyPath = "\(directory)/\(stem).key"
        try Data(chainPEM.utf8).write(to: URL(fileURLWithPath: chainPath))
        try Data(keyPEM.utf8).write(to: URL(fileURLWithPath: keyPath))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: keyPath)
        return (chainPath, keyPath)
    }
}
