// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOSSL

// The errors that both versions of HTTP end an exchange with.
extension DirectHTTPError {
    /// The connection was lost and not one byte of a response came: RFC 9110 §9.2.2 lets an idempotent request go again.
    static func lostBeforeResponse(_ message: String, _ cause: (any Error)? = nil) -> DirectHTTPError {
        var error = DirectHTTPError(.connectionLost, message, underlyingError: cause)
        error.isBeforeResponse = true
        return error
    }

    /// The peer says that it has not looked at the request: any method may go again (RFC 9113 §8.7).
    static func unprocessed(_ message: String) -> DirectHTTPError {
        var error = DirectHTTPError(.streamReset, message)
        error.isBeforeResponse = true
        error.isUnprocessed = true
        return error
    }

    /// What is added to the message of a failure after which the request would go again, if its body could.
    package static let bodyIsGone = "; not tried again, because the body can be read only once: use RequestBody.stream"

    /// The connection ended by an error below HTTP.
    static func broken(_ cause: any Error) -> DirectHTTPError {
        DirectHTTPError(.connectionLost, "the connection broke: \(explain(cause))", underlyingError: cause)
    }

    private static func explain(_ cause: any Error) -> String {
        if let cause = cause as? NIOSSLError, case .uncleanShutdown = cause {
            return "the server cut it off without the end that TLS demands"
        }
        let text = String(describing: cause)
        // In TLS 1.3 a server says this after the handshake (RFC 8446 §4.4.2.4).
        let wantsIdentity = text.contains("CERTIFICATE_REQUIRED") || text.contains("ALERT_BAD_CERTIFICATE")
        return wantsIdentity ? "the server wants a client certificate: set TLSSettings.identity" : text
    }

    static func silent(for limit: TimeAmount) -> DirectHTTPError {
        DirectHTTPError(.idleTimeout, "the server was silent for \(Duration(limit))")
    }

    static var late: DirectHTTPError {
        DirectHTTPError(.deadlineExceeded, "the response was not whole in time")
    }
}
