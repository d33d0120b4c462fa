// SPDX-License-Identifier: Apache-2.0

import Crypto
public import NIOSSL
import Names
import SwiftASN1
import X509

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A certificate authority that lives in memory: it signs server certificates for any name, good ones and bad ones.
///
/// ```swift
/// let authority = try TestAuthority()
/// let certificate = try authority.certificate(for: "a.test", "*.b.test", "127.0.0.1")
/// let expired = try authority.certificate(for: "a.test", flaw: .expired)
/// var tls = TLSConfiguration.makeClientConfiguration()
/// tls.trustRoots = authority.trustRoots           // a client that trusts it
/// let impostor = try TestAuthority()              // another one: nobody above trusts it
/// ```
///
/// Keys are P-256, so an authority or a certificate costs well under a millisecond.
public final class TestAuthority: Sendable {
    /// The root certificate in PEM, for clients that read a file (`--cacert`).
    public let rootPEM: String
    /// The root certificate.
    public let root: NIOSSLCertificate

    private let signer: Signer
    /// Signs the certificates whose chain is cut; its own certificate is never sent.
    private let unsentIntermediate: Signer

    /// Makes an authority with a key of its own. Two authorities never trust each other, not even under one name.
    ///
    /// - Parameter name: the common name of the root, seen in the messages of clients.
    public init(name: String = "Beeline test authority") throws {
        signer = try Signer(name: name, issuer: nil)
        unsentIntermediate = try Signer(name: "\(name), intermediate", issuer: signer)
        rootPEM = try signer.certificate.serializeAsPEM().pemString + "\n"
        root = try NIOSSLCertificate(bytes: Array(rootPEM.utf8), format: .pem)
    }

    /// What a client's `TLSConfiguration.trustRoots` is set to so that it trusts this authority and no other.
    public var trustRoots: NIOSSLTrustRoots { .certificates([root]) }

    /// Signs a certificate for server names.
    ///
    /// - Parameters:
    ///   - names: domains (a first label `*` is a wildcard) and IP addresses: the subject alternative names.
    ///   - flaw: what is wrong with it; by default nothing is.
    public func certificate(for names: String..., flaw: CertificateFlaw = .none) throws -> TestCertificate {
        try certificate(for: names, flaw: flaw)
    }

    /// Signs a certificate for server names that are in an array.
    public func certificate(for names: [String], flaw: CertificateFlaw = .none) throws -> TestCertificate {
        let key = P256.Signing.PrivateKey()
        let subject = try DistinguishedName { CommonName(names.first ?? "no name") }
        let now = Date()
        let day: Double = 86_400
        // Apple's platforms refuse server certificates of over 825 days, so a good one lives 90.
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
            publicKey: Certificate.PublicKey(key.publicKey),
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
            issuerPrivateKey: Certificate.PrivateKey(selfSigned ? key : issuer.key)
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

    /// A key and the certificate that says it may sign others.
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
