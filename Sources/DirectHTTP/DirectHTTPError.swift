// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// The reason why an exchange failed. `description` is one line: what failed, where, and what to try.
public struct DirectHTTPError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure, for use in code.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for logs and JSON.
        public let description: String

        /// A code of this library, or of one above it.
        package init(_ name: String) { description = name }

        /// The request cannot be sent as it is: a field, the method or the body's framing is not valid. Also: a response's body is
        /// read twice.
        public static let invalidRequest = Code("invalidRequest")
        /// The origin could not be resolved; `underlyingError` has the resolver's error.
        public static let unresolved = Code("unresolved")
        /// No endpoint accepted the connection; `attempts` has the outcome of each.
        public static let connectFailed = Code("connectFailed")
        /// The time limit for connecting was reached; `attempts` has the progress of each endpoint.
        public static let connectTimeout = Code("connectTimeout")
        /// The endpoint accepted the connection, but the TLS handshake failed.
        public static let tlsFailed = Code("tlsFailed")
        /// The endpoint's certificate is not valid for the origin's name, or its issuer is not trusted.
        public static let certificateRejected = Code("certificateRejected")
        /// The endpoint's public key matches none of the pins of the host.
        public static let pinMismatch = Code("pinMismatch")
        /// Encrypted Client Hello is required but the endpoint has no configuration or rejected it, or the configuration is
        /// malformed.
        public static let echFailed = Code("echFailed")
        /// The proxy refused to carry the request.
        public static let proxyRefused = Code("proxyRefused")
        /// The server refused the handshake of a WebSocket; `response` has its response.
        public static let upgradeRefused = Code("upgradeRefused")
        /// The WebSocket is closed or closing, so that nothing can be sent.
        public static let webSocketClosed = Code("webSocketClosed")
        /// All connections of the origin were busy, and the queue was full or the time limit was reached.
        public static let poolExhausted = Code("poolExhausted")
        /// The peer sent nothing for longer than the idle limit, or the source of the request's body yielded nothing for that long
        /// after the response was complete.
        public static let idleTimeout = Code("idleTimeout")
        /// The time limit of the whole exchange was reached.
        public static let deadlineExceeded = Code("deadlineExceeded")
        /// The peer closed or reset the connection before the response was complete.
        public static let connectionLost = Code("connectionLost")
        /// The server reset the request's HTTP/2 stream before the response was complete.
        public static let streamReset = Code("streamReset")
        /// The peer's response is not valid HTTP.
        public static let malformedResponse = Code("malformedResponse")
        /// The status line of the peer's response has another version of HTTP, or cannot be read.
        public static let unsupportedVersion = Code("unsupportedVersion")
        /// The head of the response or its collected body is larger than the limit.
        public static let responseTooLarge = Code("responseTooLarge")
        /// The body has an invalid content coding, or a transfer coding that was not requested.
        public static let undecodableBody = Code("undecodableBody")
        /// The request's body could not be read or has another length than announced; `underlyingError` has the cause.
        public static let bodySourceFailed = Code("bodySourceFailed")
        /// A redirect or retry needs the body again, but its source can be read only once.
        public static let bodyNotReplayable = Code("bodyNotReplayable")
        /// The task was cancelled.
        public static let cancelled = Code("cancelled")
        /// The engine was shut down.
        public static let shutDown = Code("shutDown")
    }

    private struct Values: Sendable {
        var code: Code
        var message: String
        var attempts: [Attempt]
        var response: HTTPResponse?
        var underlyingError: (any Error)?
        var echRejection: ECHPlan.Rejection?
    }

    /// In one object, because results that may hold an error are copied often.
    private var shared: Shared<Values>

    private var values: Values {
        get { shared.value }
        set { shared = Shared(newValue) }
    }

    /// What failed.
    public var code: Code {
        get { values.code }
        set { values.code = newValue }
    }

    /// One line: what failed, at which origin or endpoint, and what to try.
    public var message: String {
        get { values.message }
        set { values.message = newValue }
    }

    /// All attempts of this exchange, in the order of their starts.
    public var attempts: [Attempt] {
        get { values.attempts }
        set { values.attempts = newValue }
    }

    /// The head of the response that refused a WebSocket or a proxy's tunnel, such as 401, 407 or 503; nil otherwise.
    public var response: HTTPResponse? {
        get { values.response }
        set { values.response = newValue }
    }

    /// The cause, if another library reported it.
    public var underlyingError: (any Error)? {
        get { values.underlyingError }
        set { values.underlyingError = newValue }
    }

    /// The verified rejection of ECH that ended a handshake; nil otherwise.
    var echRejection: ECHPlan.Rejection? {
        get { values.echRejection }
        set { values.echRejection = newValue }
    }

    /// Whether the connection was lost before the first byte of a response, so that an idempotent request may be sent again
    /// (RFC 9110 §9.2.2). False if ``isUnprocessed`` is true.
    var isBeforeResponse = false
    /// Whether the peer reported that it did not process the request.
    var isUnprocessed = false
    /// Whether the server processed other requests of the connection. If this one is sent again, it comes nearer to its turn.
    var servedOthers = false
    /// Whether the server requires HTTP/1.1 for this request (HTTP_1_1_REQUIRED, RFC 9113 §7).
    var requiresHTTP11 = false
    /// Whether the response has more fields than the limit.
    package var hasTooManyFields = false
    /// Whether the Content-Length of the response is a number that does not fit 64 bits.
    package var hasTooLargeLength = false
    /// Whether the trailer section of the response's body is malformed.
    package var hasMalformedTrailers = false
    /// Whether the body of a proxy's refusal is malformed.
    package var hasBrokenBody = false
    /// Whether the error says more than its code and message.
    package var hasDetails: Bool { response != nil || hasTooManyFields || hasTooLargeLength }
    /// Whether a proxy closed the connection with a challenge that a new connection can answer.
    var isChallenge = false

    /// Makes an error.
    public init(_ code: Code, _ message: String, attempts: [Attempt] = [], underlyingError: (any Error)? = nil) {
        shared = Shared(Values(code: code, message: message, attempts: attempts, underlyingError: underlyingError))
    }

    /// The message.
    public var description: String { message }
}
