// SPDX-License-Identifier: Apache-2.0

/// An error of a proxy or its gateway. `description` is one line with the problem and a remedy.
public struct ProxyError: Error, Sendable, CustomStringConvertible {
    /// The kind of error, for use in code.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for logs and JSON.
        public let description: String
        /// The endpoint is reachable from other machines, but no credentials are set.
        public static let needsCredentials = Code(description: "needsCredentials")
        /// The address or port is not available.
        public static let cannotListen = Code(description: "cannotListen")
        /// The proxy has stopped.
        public static let ended = Code(description: "ended")
        /// The gateway does not serve the URL's host.
        public static let notListed = Code(description: "notListed")
    }

    /// The kind of error.
    public var code: Code
    /// One line with the problem and a remedy.
    public var message: String
    /// The underlying error.
    public var underlyingError: (any Error)?

    package init(_ code: Code, _ message: String, underlyingError: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlyingError = underlyingError
    }

    /// The message.
    public var description: String { message }
}
