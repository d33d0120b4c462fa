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

    /// The message of a failure after which the request would go again, if its body could. It says so once, whoever says it.
    package static func withBodyGone(_ message: String) -> String {
        let note = "; not tried again, because the body can be read only once: use RequestBody.stream"
        return message.hasSuffix(note) ? message : message + note
    }

    /// The connection ended by an error below HTTP.
    static func broken(_ cause: any Error) -> DirectHTTPError {
        DirectHTTPError(.connectionLost, "the connection broke: \(explain(cause))", underlyingError: cause)
    }

    private static func explain(_ cause: any Error) -> String {
        if let cause = cause as? NIOSSLError, case .uncleanShutdown = cause {
            return "the server cut it off without the end that TLS demands"
        }
        // In TLS 1.3 a server speaks of the client's certificate after the handshake (RFC 8446 §4.4.2.4).
        return TLSFault.explain(cause)
    }

    static func silent(for limit: TimeAmount) -> DirectHTTPError {
        DirectHTTPError(.idleTimeout, "the server was silent for \(Duration(limit))")
    }

    static var late: DirectHTTPError {
        DirectHTTPError(.deadlineExceeded, "the response was not whole in time")
    }
}
