// SPDX-License-Identifier: Apache-2.0

import HTTPWire
import LibC
import NIOCore
import NIOSSL

// Errors shared by HTTP/1.1 and HTTP/2.
extension DirectHTTPError {
    /// The peer did not process the request. A request of any method may be sent again (RFC 9113 §8.7).
    static func unprocessed(_ message: String) -> DirectHTTPError {
        DirectHTTPError(.streamReset, message).with(\.isUnprocessed)
    }

    func with(_ flag: WritableKeyPath<DirectHTTPError, Bool>) -> DirectHTTPError {
        var error = self
        error[keyPath: flag] = true
        return error
    }

    /// Adds a note to the message of an error that would be retried if the body could be read again. The note is added only once.
    package static func withBodyGone(_ message: String) -> String {
        let note = "; not tried again, because the body can be read only once: use RequestBody.stream"
        return message.hasSuffix(note) ? message : message + note
    }

    /// The peer's bytes are not a response, or its response is too large or incomplete.
    static func unreadable(_ error: HTTP1Error) -> DirectHTTPError {
        switch error {
        case .malformed(let message): malformed(message)
        case .malformedTrailers(let message): malformed(message).with(\.hasMalformedTrailers)
        case .lengthTooLarge(let message): malformed(message).with(\.hasTooLargeLength)
        case .unsupportedVersion(let message):
            DirectHTTPError(.unsupportedVersion, "the server's response is not HTTP: \(message)")
        case .unsupportedCoding(let message):
            DirectHTTPError(.undecodableBody, "the response cannot be read: \(message)")
        case .tooLarge, .trailersTooLarge:
            DirectHTTPError(
                .responseTooLarge,
                "the response cannot be read: \(error.message); raise maxHeadBytes to read it"
            )
        case .tooManyFields:
            DirectHTTPError(.responseTooLarge, "the response cannot be read: \(error.message)").with(\.hasTooManyFields)
        case .endedEarly(let message): DirectHTTPError(.connectionLost, message)
        }
    }

    static func malformed(_ what: String) -> DirectHTTPError {
        DirectHTTPError(.malformedResponse, "the server's response is not HTTP: \(what)")
    }

    /// An error below HTTP ended the connection.
    static func broken(_ cause: any Error) -> DirectHTTPError {
        DirectHTTPError(.connectionLost, "the connection broke: \(explain(cause))", underlyingError: cause)
    }

    /// This side closed the connection, for example because the engine was shut down.
    static var closedByClient: DirectHTTPError {
        DirectHTTPError(.connectionLost, "the connection was closed before the exchange was complete")
    }

    /// Whether the peer ended the connection. Other errors, such as a time limit of TCP, may come from the network.
    static func isFromPeer(_ cause: any Error) -> Bool {
        if let cause = cause as? IOError { return cause.errnoCode == ECONNRESET || cause.errnoCode == EPIPE }
        if let cause = cause as? NIOSSLError, case .uncleanShutdown = cause { return true }
        return false
    }

    private static func explain(_ cause: any Error) -> String {
        if let cause = cause as? NIOSSLError, case .uncleanShutdown = cause {
            return "the server closed it without TLS's close_notify"
        }
        // In TLS 1.3 a server rejects the client's certificate after the handshake (RFC 8446 §4.4.2.4).
        return TLSFault.explain(cause)
    }

    static func silent(for limit: TimeAmount) -> DirectHTTPError {
        DirectHTTPError(.idleTimeout, "the server was silent for \(Duration(limit))")
    }

    /// The response is complete, but the request is not.
    static func sourceSilent(for limit: TimeAmount) -> DirectHTTPError {
        DirectHTTPError(
            .idleTimeout,
            "the response is complete, but the source of the request's body yielded nothing for \(Duration(limit)): "
                + "end the body without waiting for the end of the response"
        )
    }

    static var bodyWasRead: DirectHTTPError {
        DirectHTTPError(.invalidRequest, "the body was already read to its end: keep the result of the first reading")
    }

    /// A second iterator would begin to decode in the middle.
    static var bodyIsBegun: DirectHTTPError {
        DirectHTTPError(.invalidRequest, "a part of the compressed body was read: go on with the first iterator")
    }

    static var late: DirectHTTPError {
        DirectHTTPError(.deadlineExceeded, "the response was not complete in time")
    }
}
