// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP

/// Why a request did not bring a response. `description` is one line: what failed, where, and what to try.
public struct BeelineError: Error, Sendable, CustomStringConvertible {
    /// What failed, to branch on: the codes of `DirectHTTPError` under the same names, and those of the client.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for logs and JSON.
        public let description: String

        /// The code of an exchange.
        public init(_ code: DirectHTTPError.Code) { description = code.description }

        private init(_ name: String) { description = name }

        /// The URL, of the request or of a redirect, cannot be asked for.
        public static let malformedURL = Code("malformedURL")
        /// The URL's scheme is not one that HTTP serves; a redirect to `file:` is one.
        public static let unsupportedScheme = Code("unsupportedScheme")
        /// More redirects than ``RedirectPolicy`` allows.
        public static let tooManyRedirects = Code("tooManyRedirects")
        /// The proxy's name was not resolved.
        public static let proxyUnresolved = Code("proxyUnresolved")
        /// The resolver does not know which host an address served.
        public static let addressUnknown = Code("addressUnknown")
        /// An address served several hosts, which the message lists.
        public static let addressShared = Code("addressShared")
        /// An interceptor threw what is no ``BeelineError``, or asked for more than it may.
        public static let interceptorFailed = Code("interceptorFailed")
        /// A file of a download cannot be read, written or moved.
        public static let fileFailed = Code("fileFailed")
        /// A download ended with a status that brings no file.
        public static let unexpectedStatus = Code("unexpectedStatus")
        /// The server sends another part of a download than it was asked for.
        public static let rangeMismatch = Code("rangeMismatch")
        /// A value cannot be written as JSON.
        public static let encodingFailed = Code("encodingFailed")
        /// A response's body is not JSON of the type that was asked for.
        public static let decodingFailed = Code("decodingFailed")
    }

    /// What failed.
    public var code: Code
    /// One line: what, where, and what to try.
    public var message: String
    /// Every endpoint that was tried in the hop that failed.
    public var attempts: [Attempt]
    /// The hops that went well before.
    public var hops: [Hop]
    /// The proxy on the way of the hop that failed; nil where there was none.
    public var proxy: Proxy? { route.proxy }
    private var route = Route.direct
    /// How often the request was tried; see ``RetryPolicy``.
    public internal(set) var tries = 1
    /// The cause, e.g. the resolver's error.
    public var underlyingError: (any Error)?

    /// Makes an error.
    public init(
        _ code: Code,
        _ message: String,
        attempts: [Attempt] = [],
        hops: [Hop] = [],
        underlyingError: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.attempts = attempts
        self.hops = hops
        self.underlyingError = underlyingError
    }

    /// - Parameter route: the way of the hop that failed: a name that was not resolved is the proxy's where there is one.
    init(_ error: DirectHTTPError, hops: [Hop] = [], route: Route = .direct) {
        self.init(
            error.code == .unresolved && route != .direct ? .proxyUnresolved : Code(error.code),
            error.message,
            attempts: error.attempts,
            hops: hops,
            underlyingError: error.response == nil ? error.underlyingError : error
        )
        self.route = route
    }

    /// The message.
    public var description: String { message }

    /// Whether this is the exchange's failure `code`.
    public static func ~= (code: DirectHTTPError.Code, error: BeelineError) -> Bool { error.code == Code(code) }
}
