// SPDX-License-Identifier: Apache-2.0

import Crypto
package import NIOSSL
import Names
import SwiftASN1
import X509

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// An in-memory certificate authority. It signs valid and flawed server certificates for any name.
///
/// ```swift
/// let authority = try TestAuthority()
/// let certificate = try authority.certificate(for: "a.test", "*.b.test", "127.0.0.1")
/// let expired = try authority.certificate(for: "a.test", flaw: .expired)
/// configuration.tls.rootPEMs = [authority.rootPEM]  // the client trusts this authority
/// let impostor = try TestAuthority()                // the client does not trust this one
/// ```
///
/// Keys are P-256, unless another kind is requested. Creating an authority or a certificate takes well under a millisecond.
public final class TestAuthority: Sendable {
    /// The root certificate in PEM, for clients that read a file (`--cacert`).
    public let rootPEM: String
    /// The root certificate.
    package let root: NIOSSLCertificate

    private let signer: Signer
    /// Signs the certificates with an incomplete chain. The server never sends the intermediate's own certificate.
    private let unsentIntermediate: Signer

    /// Creates an authority with its own key. Two authorities never trust each other, even if they have the same name.
    ///
    /// - Parameter name: The root's common name, which clients show in messages.
    /// - Throws: The error of the certificate library, for a name that a certificate cannot have.
    public init(name: String = "Beeline test authority") throws {
        signer = try Signer(name: name, issuer: nil)
        unsentIntermediate = try Signer(name: "\(name), intermediate", issuer: signer)
        rootPEM = try signer.certificate.serializeAsPEM().pemString + "\n"
        root = try NIOSSLCertificate(bytes: Array(rootPEM.utf8), format: .pem)
    }

    /// The value for a client's `TLSConfiguration.trustRoots` that trusts only this authority.
    package var trustRoots: NIOSSLTrustRoots { .certificates([root]) }

    /// Signs a certificate for server names.
    ///
    /// - Parameters:
    ///   - names: The subject alternative names: domains (the first label may be the wildcard `*`) and IP addresses.
    ///   - flaw: The defect. Default: none.
    /// - Throws: The error of the certificate library, for a name that a certificate cannot have.
    public func certificate(for names: String..., flaw: CertificateFlaw = .none) throws -> TestCertificate {
        try certificate(for: names, flaw: flaw)
    }

    /// Signs a certificate for an array of server names.
    ///
    /// - Throws: The error of the certificate library, for a name that a certificate cannot have.
    public func certificate(for names: [String], flaw: CertificateFlaw = .none) throws -> TestCertificate {
        try certificate(for: names, flaw: flaw, key: .p256)
    }

    /// Signs a certificate with a key of the given kind for an array of server names.
    ///
    /// - Throws: The error of the certificate library, for a name that a certificate cannot have.
    package func certificate(
        for names: [String],
        flaw: CertificateFlaw = .none,
        key kind: TestKeyKind
    ) throws -> TestCertificate {
        let key = kind.makeKey()
        let subject = try DistinguishedName { CommonName(names.first ?? "no name") }
        let now = Date()
        let day: Double = 86_400
        // Apple's platforms reject server certificates that are valid for over 825 days; use 90.
        let validity =
            switch flaw.kind {
            case .expired: (now - 30 * day, now - day)
            case .notYetValid: (now + day, now + 30 * day)
            default: (now - day, now + 90 * day)
            }
        let issuer = flaw.kind == .incompleteChain ? unsentIntermediate : signer
        let selfSigned = flaw.kind == .selfSigned
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: key.publicKey,
            notValidBefore: validity.0,
            notValidAfter: validity.1,
            issuer: selfSigned ? subject : issuer.subject,
            subject: subject,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth, .clientAuth])
                SubjectAlternativeNames(names.map(Self.alternativeName))
            },
            issuerPrivateKey: selfSigned ? key : Certificate.PrivateKey(issuer.key)
        )
        return try TestCertificate(names: names, certificate: certificate, key: key)
    }

    private static func alternativeName(_ name: String) -> GeneralName {
        if let address = IPAddress(name) {
            .ipAddress(ASN1OctetString(contentBytes: address.octets[...]))
        } else {
            .dnsName(name)
        }
    }

    /// A CA key and its certificate.
    private struct Signer {
        let key: P256.Signing.PrivateKey
        let subject: DistinguishedName
        let certificate: Certificate

        init(name: String, issuer: Signer?) throws {
            let key = P256.Signing.PrivateKey()
            let subject = try DistinguishedName { CommonName(name) }
            let now = Date()
            self.key = key
            self.subject = subject
            certificate = try Certificate(
                version: .v3,
                serialNumber: Certificate.SerialNumber(),
                publicKey: Certificate.PublicKey(key.publicKey),
                notValidBefore: now - 365 * 86_400,
                notValidAfter: now + 365 * 86_400,
                issuer: issuer?.subject ?? subject,
                subject: subject,
                extensions: try Certificate.Extensions {
                    Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                    Critical(KeyUsage(keyCertSign: true, cRLSign: true))
                },
                issuerPrivateKey: Certificate.PrivateKey(issuer?.key ?? key)
            )
        }
    }
}
