// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
package import HTTPTypes

/// The error of a request that failed. `description` is one line: what failed, where, and what to try.
public struct BeelineError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure, for use in code. An error of the connection or the exchange has the engine's code, such as
    /// `.connectTimeout`. The client adds further codes, such as `.tooManyRedirects`.
    public typealias Code = DirectHTTPError.Code

    /// The kind of failure.
    public var code: Code
    /// One line: what failed, where, and what to try.
    public var message: String
    /// The URL of the hop that failed, after redirects and HSTS; `nil` if there is none.
    package var failedURL: HTTPURL?
    /// The request of the hop that failed; `nil` if there was no connection to send it on.
    package var sentRequest: SentRequest?
    /// All connection attempts of the hop that failed.
    public var attempts: [Attempt]
    /// The hops that succeeded before.
    public var hops: [Hop]
    /// The proxy of the hop that failed; `nil` if there was none.
    public var proxy: Proxy? { route.proxy }
    private var route = Route.direct
    /// The number of tries; see ``RetryPolicy``.
    public internal(set) var tries = 1
    /// The cause, for example an error of the resolver.
    public var underlyingError: (any Error)?

    /// Creates an error.
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

    /// - Parameter route: The route of the hop that failed. With a proxy, `unresolved` becomes `proxyUnresolved`.
    package init(_ error: DirectHTTPError, hops: [Hop] = [], route: Route = .direct) {
        self.init(
            error.code == .unresolved && route != .direct ? .proxyUnresolved : error.code,
            // A program does not see the client's engine.
            error.code == .shutDown ? "the client was shut down: create a new one" : error.message,
            attempts: error.attempts,
            hops: hops,
            underlyingError: error.hasDetails ? error : error.underlyingError
        )
        self.route = route
    }

    /// Puts the origin before a message that does not name its host, such as "the server was silent for 60 seconds".
    mutating func addOrigin(_ origin: Origin) {
        let host = origin.host.text
        // A name of one label, such as "server", may be a word of the message.
        let isWord = host != "localhost" && !host.contains { ".:".contains($0) }
        let isNamed = isWord ? message.contains("\(origin)") || message.hasPrefix(host) : message.contains(host)
        if !isNamed { message = "\(origin): \(message)" }
    }

    /// The message.
    public var description: String { message }

    /// The head of a request without a response. An object, so that errors stay small.
    package final class SentRequest: Sendable {
        /// The head as it was sent, without a Transfer-Encoding. Its cookies and credentials are secrets.
        package let head: HTTPRequest

        init(_ head: HTTPRequest) { self.head = head }
    }
}

/// The codes of the client. The engine throws none of them.
extension DirectHTTPError.Code {
    /// The URL of the request or of a redirect is invalid.
    public static let malformedURL = DirectHTTPError.Code("malformedURL")
    /// The scheme is not an HTTP scheme, for example in a redirect to `file:`.
    public static let unsupportedScheme = DirectHTTPError.Code("unsupportedScheme")
    /// More redirects than ``RedirectPolicy`` allows.
    public static let tooManyRedirects = DirectHTTPError.Code("tooManyRedirects")
    /// The proxy's name was not resolved, or the configured proxy is not usable.
    public static let proxyUnresolved = DirectHTTPError.Code("proxyUnresolved")
    /// The resolver does not know which host an address served.
    public static let addressUnknown = DirectHTTPError.Code("addressUnknown")
    /// An address served several hosts, which the message lists.
    public static let addressShared = DirectHTTPError.Code("addressShared")
    /// An interceptor threw an error other than ``BeelineError``, or called `next` too often.
    public static let interceptorFailed = DirectHTTPError.Code("interceptorFailed")
    /// A netrc file could not be parsed.
    public static let malformedNetrc = DirectHTTPError.Code("malformedNetrc")
    /// A file of a download could not be read, written or moved.
    public static let fileFailed = DirectHTTPError.Code("fileFailed")
    /// A download ended with a status that carries no file.
    public static let unexpectedStatus = DirectHTTPError.Code("unexpectedStatus")
    /// The server sent a range of a download other than the requested one.
    public static let rangeMismatch = DirectHTTPError.Code("rangeMismatch")
    /// A value could not be encoded as JSON.
    public static let encodingFailed = DirectHTTPError.Code("encodingFailed")
    /// The body of a response could not be decoded as JSON of the requested type.
    public static let decodingFailed = DirectHTTPError.Code("decodingFailed")
}
