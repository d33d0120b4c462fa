// SPDX-License-Identifier: Apache-2.0

/// What ended a TLS handshake, in words. BoringSSL gives a reason in capital letters, among numbers and places in its source.
package enum HandshakeFault {
    /// The words for an error of NIOSSL.
    package static func words(for error: any Error) -> String {
        let text = String(describing: error)
        guard let reason = reason(in: text) else { return text }
        switch reason {
        case "WRONG_VERSION_NUMBER", "HTTP_REQUEST": return "the server does not speak TLS there"
        case "TLSV1_ALERT_PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL", "SSLV3_ALERT_PROTOCOL_VERSION":
            return "the server has no version of TLS that is taken here; its own are too old, as a rule"
        case "TLSV1_ALERT_UNRECOGNIZED_NAME": return "the server knows no site of that name"
        case "SSLV3_ALERT_HANDSHAKE_FAILURE", "TLSV1_ALERT_INSUFFICIENT_SECURITY":
            return "the server agrees to nothing that is offered, or wants a client certificate"
        case "TLSV1_ALERT_INTERNAL_ERROR": return "the server reports a fault of its own"
        case "TLSV1_ALERT_CERTIFICATE_REQUIRED", "SSLV3_ALERT_BAD_CERTIFICATE":
            return "the server wants a client certificate"
        default: return reason
        }
    }

    /// `…:SSL routines:OPENSSL_internal:REASON at …`.
    private static func reason(in text: String) -> String? {
        let mark = "OPENSSL_internal:"
        var rest = text[...]
        while let start = rest.firstIndex(of: "O") {
            rest = rest[start...]
            if rest.hasPrefix(mark) { return String(rest.dropFirst(mark.count).prefix { $0 != " " && $0 != "]" }) }
            rest = rest.dropFirst()
        }
        return nil
    }
}
