// SPDX-License-Identifier: Apache-2.0

/// Why a proxy does not listen. `description` is one line that says what failed and what to try.
public struct ProxyError: Error, Sendable, CustomStringConvertible {
    /// What failed, to branch on.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for logs and JSON.
        public let description: String
        /// Other machines could use it, and nobody would be asked for a password.
        public static let needsCredentials = Code(description: "needsCredentials")
        /// The address or port cannot be had.
        public static let cannotListen = Code(description: "cannotListen")
        /// The proxy has ended.
        public static let ended = Code(description: "ended")
        /// A URL is none that the gateway may carry.
        public static let notListed = Code(description: "notListed")
    }

    /// What failed.
    public var code: Code
    /// One line.
    public var message: String
    /// The cause.
    public var underlyingError: (any Error)?

    /// Makes an error.
    public init(_ code: Code, _ message: String, underlyingError: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlyingError = underlyingError
    }

    /// The message.
    public var description: String { message }
}
