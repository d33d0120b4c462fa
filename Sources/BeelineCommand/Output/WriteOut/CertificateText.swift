// SPDX-License-Identifier: Apache-2.0

import Beeline
import SwiftASN1
import X509

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The text of `%{certs}` in `-w` for one certificate: a line for each field with curl's names, and the certificate in
/// PEM form.
enum CertificateText {
    /// - Parameter der: the certificate. A certificate that cannot be parsed has no fields.
    static func text(_ der: [UInt8]) -> String {
        let pem = PEMDocument(type: "CERTIFICATE", derBytes: der).pemString
        let lines = (try? Certificate(derEncoded: der)).map(fields) ?? []
        return (lines + [pem]).map { $0.hasSuffix("\n") ? $0 : $0 + "\n" }.joined()
    }

    /// The fields, one a line. Control characters in the server's text are replaced.
    private static func fields(_ certificate: Certificate) -> [String] {
        var lines = [
            "Subject:\(certificate.subject)", "Issuer:\(certificate.issuer)",
            // The number in the certificate, one less than its version (RFC 5280 §4.1.2.1).
            "Version:\(certificate.version == .v1 ? 0 : 2)",
            "Serial Number:\(Hex.encode(certificate.serialNumber.bytes))",
        ]
        if let name = Self.name(of: certificate.signatureAlgorithm) { lines.append("Signature Algorithm:\(name)") }
        let names = (try? certificate.extensions.subjectAlternativeNames).map { $0.compactMap { text($0) } } ?? []
        if !names.isEmpty { lines.append("X509v3 Subject Alternative Name:\(names.joined(separator: ", "))") }
        lines.append("Start date:\(date(certificate.notValidBefore))")
        lines.append("Expire date:\(date(certificate.notValidAfter))")
        return lines.map(\.singleLine)
    }

    /// OpenSSL's name of an algorithm; nil for others.
    private static func name(of algorithm: Certificate.SignatureAlgorithm) -> String? {
        switch algorithm {
        case .ecdsaWithSHA256: "ecdsa-with-SHA256"
        case .ecdsaWithSHA384: "ecdsa-with-SHA384"
        case .ecdsaWithSHA512: "ecdsa-with-SHA512"
        case .sha1WithRSAEncryption: "sha1WithRSAEncryption"
        case .sha256WithRSAEncryption: "sha256WithRSAEncryption"
        case .sha384WithRSAEncryption: "sha384WithRSAEncryption"
        case .sha512WithRSAEncryption: "sha512WithRSAEncryption"
        case .ed25519: "ED25519"
        default: nil
        }
    }

    private static func text(_ name: GeneralName) -> String? {
        switch name {
        case .dnsName(let name): "DNS:\(name)"
        case .ipAddress(let octets): IPAddress(octets: Array(octets.bytes)).map { "IP Address:\($0)" }
        default: nil
        }
    }

    private static func date(_ date: Date) -> String {
        let seconds = Int64(clamping: date.timeIntervalSince1970)
        return WriteOutTime.text("%b %e %H:%M:%S %Y GMT", seconds: Int(clamping: seconds), microseconds: 0)
    }
}
