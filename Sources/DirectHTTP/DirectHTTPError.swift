// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// Why an exchange did not come to its end. `description` is one line that names what failed, where, and what to try.
public struct DirectHTTPError: Error, Sendable, CustomStringConvertible {
    /// What failed, to branch on.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for logs and JSON.
        public let description: String

        /// The request cannot be sent as it is: a field, the method or the body's framing is not valid.
        public static let invalidRequest = Code(description: "invalidRequest")
        /// Nobody could say where the origin is; `underlyingError` has the resolver's reason.
        public static let unresolved = Code(description: "unresolved")
        /// No endpoint took the connection; `attempts` says what each did.
        public static let connectFailed = Code(description: "connectFailed")
        /// The time for connecting ran out; `attempts` says how far each endpoint came.
        public static let connectTimeout = Code(description: "connectTimeout")
        /// The endpoint took the connection, but TLS could not be agreed.
        public static let tlsFailed = Code(description: "tlsFailed")
        /// The endpoint's certificate is not one for the origin's name, or nobody that we trust vouches for it.
        public static let certificateRejected = Code(description: "certificateRejected")
        /// The endpoint's public key is none of those that are pinned for the host.
        public static let pinMismatch = Code(description: "pinMismatch")
        /// The proxy refused to carry the request.
        public static let proxyRefused = Code(description: "proxyRefused")
        /// The server answered the handshake of a WebSocket with a response of its own; `response` has it.
        public static let upgradeRefused = Code(description: "upgradeRefused")
        /// The WebSocket is closed, or about to be: nothing more can be sent.
        public static let webSocketClosed = Code(description: "webSocketClosed")
        /// All connections of the origin were busy, and the queue is full or its time ran out.
        public static let poolExhausted = Code(description: "poolExhausted")
        /// The peer was silent for longer than the idle limit.
        public static let idleTimeout = Code(description: "idleTimeout")
        /// The time for the whole exchange ran out.
        public static let deadlineExceeded = Code(description: "deadlineExceeded")
        /// The peer closed or reset the connection before the response was whole.
        public static let connectionLost = Code(description: "connectionLost")
        /// The server ended the request's stream (HTTP/2) before the response was whole.
        public static let streamReset = Code(description: "streamReset")
        /// What the peer sent is not HTTP.
        public static let malformedResponse = Code(description: "malformedResponse")
        /// The response's head or collected body is larger than the limit.
        public static let responseTooLarge = Code(description: "responseTooLarge")
        /// The content coding of the body is broken.
        public static let undecodableBody = Code(description: "undecodableBody")
        /// The request's body could not be read, or was not as long as it said; `underlyingError` has the reason.
        public static let bodySourceFailed = Code(description: "bodySourceFailed")
        /// A redirect or retry needs the body again, and its source can be read only once.
        public static let bodyNotReplayable = Code(description: "bodyNotReplayable")
        /// The task was cancelled.
        public static let cancelled = Code(description: "cancelled")
        /// The engine was shut down.
        public static let shutDown = Code(description: "shutDown")
    }

    private struct Values: Sendable {
        var code: Code
        var message: String
        var attempts: [Attempt]
        var response: HTTPResponse?
        var underlyingError: (any Error)?
    }

    /// What may be an error is handed on often, and seldom is one.
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

    /// One line: what, at which origin or endpoint, and what to try.
    public var message: String {
        get { values.message }
        set { values.message = newValue }
    }

    /// Every endpoint that was tried for this exchange, in the order of their starts.
    public var attempts: [Attempt] {
        get { values.attempts }
        set { values.attempts = newValue }
    }

    /// The head of the response that took the place of a WebSocket or of a proxy's tunnel, such as 401, 407 or 503; nil for
    /// everything else.
    public var response: HTTPResponse? {
        get { values.response }
        set { values.response = newValue }
    }

    /// The cause, where another library reported it.
    public var underlyingError: (any Error)? {
        get { values.underlyingError }
        set { values.underlyingError = newValue }
    }

    /// Whether the connection was lost before the first byte of a response.
    var isBeforeResponse = false
    /// Whether the peer says that it has not begun to process the request.
    var isUnprocessed = false
    /// Whether the server answers this request in HTTP/1.1 alone (HTTP_1_1_REQUIRED, RFC 9113 §7).
    var wantsHTTP1 = false
    /// Whether a proxy closed the connection with a challenge that can be answered on another.
    var isChallenge = false

    /// Makes an error.
    public init(_ code: Code, _ message: String, attempts: [Attempt] = [], underlyingError: (any Error)? = nil) {
        shared = Shared(Values(code: code, message: message, attempts: attempts, underlyingError: underlyingError))
    }

    /// The message.
    public var description: String { message }
}
