// SPDX-License-Identifier: Apache-2.0

import LibC
import NIOCore
import NIOSSL
import Names

/// Explains TLS errors and names the remedy.
package enum TLSFault {
    /// A one-line explanation of an error. It includes BoringSSL's reason, so that it can be looked up.
    package static func explain(_ error: any Error) -> String {
        guard let reason = reason(of: error) else { return words(for: error) }
        return meaning(of: reason).map { "\($0) (\(reason))" } ?? String(reason)
    }

    /// The words for an error that is not of BoringSSL.
    private static func words(for error: any Error) -> String {
        if let error = error as? IOError { return String(cString: strerror(error.errnoCode)) }
        if let error = error as? NIOSSLExtraError, error == .failedToValidateHostname {
            return "its certificate is for another name"
        }
        if case NIOSSLError.uncleanShutdown = error {
            return "the server closed the connection without TLS's close_notify"
        }
        guard case NIOSSLError.handshakeFailed(let cause) = error else { return String(describing: error) }
        return cause == .sslError([.eofDuringHandshake])
            ? "the server closed the connection; it may not use TLS on this port" : String(describing: cause)
    }

    /// Whether this is BoringSSL's error for a server that rejected ECH and has a verified certificate.
    static func isECHRejection(_ error: any Error) -> Bool { reason(of: error) == "ECH_REJECTED" }

    /// The problem with a certificate's validity dates; nil if they are valid.
    static func objection(toDatesOf certificate: NIOSSLCertificate, now: time_t = time(nil)) -> String? {
        if certificate.notValidAfter < now { return "expired on \(day(certificate.notValidAfter))" }
        if certificate.notValidBefore > now { return "is not valid before \(day(certificate.notValidBefore))" }
        return nil
    }

    /// The reason why a file cannot be opened; nil if it can.
    static func objection(toFile path: String) -> String? {
        access(path, R_OK) == 0 ? nil : "the file does not exist or cannot be read"
    }

    private static func day(_ seconds: time_t) -> String {
        let date = Calendar.date(daysSince1970: seconds / 86_400)
        return "\(date.year)-\(date.month < 10 ? "0" : "")\(date.month)-\(date.day < 10 ? "0" : "")\(date.day)"
    }

    /// BoringSSL's reason, such as `WRONG_VERSION_NUMBER`, which NIOSSL provides only as text; nil for other errors.
    private static func reason(of error: any Error) -> Substring? {
        let text = String(describing: error)
        // Before it, there may be the reason why a signature is wrong.
        if text.contains("CERTIFICATE_VERIFY_FAILED") { return "CERTIFICATE_VERIFY_FAILED" }
        guard let mark = text.firstRange(of: "OPENSSL_internal:") else { return nil }
        return text[mark.upperBound...].prefix { $0.isUppercase || $0.isNumber || $0 == "_" }
    }

    /// Reasons with `ALERT` come from the server (RFC 8446 §6.2). Its alerts about certificates concern the client's certificate.
    private static func meaning(of reason: Substring) -> String? {
        switch reason {
        case "CERTIFICATE_VERIFY_FAILED":
            "its certificate has expired, or no trusted issuer signed it"
        case "WRONG_VERSION_NUMBER":
            "the server does not use TLS on this port"
        case "TLSV1_ALERT_PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL":
            "no version of TLS is accepted by both sides, see TLSSettings.minVersion"
        case "SSLV3_ALERT_HANDSHAKE_FAILURE":
            "the server requires other ciphers or groups, or a client certificate: set TLSSettings.identity"
        case "TLSV1_ALERT_CERTIFICATE_REQUIRED":
            "the server requires a client certificate: set TLSSettings.identity"
        case "SSLV3_ALERT_BAD_CERTIFICATE":
            "the server requires a client certificate, or another one: set TLSSettings.identity"
        case "TLSV1_ALERT_UNKNOWN_CA":
            "the server does not trust the client certificate's issuer: add its intermediates to the chain"
        case "SSLV3_ALERT_CERTIFICATE_EXPIRED":
            "the client certificate has expired"
        case "SSLV3_ALERT_CERTIFICATE_REVOKED":
            "the client certificate is revoked"
        case "SSLV3_ALERT_CERTIFICATE_UNKNOWN", "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE", "TLSV1_ALERT_ACCESS_DENIED":
            "the server does not accept the client certificate"
        case "TLSV1_ALERT_UNRECOGNIZED_NAME":
            "the server does not know the name"
        case "NO_RENEGOTIATION":
            "the server asked for a second handshake, which is not supported; it may require a client certificate here"
        default:
            nil
        }
    }
}
