// SPDX-License-Identifier: Apache-2.0

/// The error of a browser or its driver. `message` is one line with the failure and a remedy.
public struct WebDriverError: Error, Sendable, CustomStringConvertible {
    /// The kind of the error.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for logs and JSON.
        public let description: String
        /// A program is not installed.
        public static let notInstalled = Code(description: "notInstalled")
        /// The browser or its driver did not start.
        public static let cannotStart = Code(description: "cannotStart")
        /// The browser refused a command.
        public static let refused = Code(description: "refused")
        /// A command took too long.
        public static let timedOut = Code(description: "timedOut")
        /// The browser has ended, or the calling task was cancelled.
        public static let ended = Code(description: "ended")
    }

    /// The kind of the error.
    public var code: Code
    /// One line with the failure and a remedy.
    public var message: String
    /// The underlying error; nil without one.
    public var underlyingError: (any Error)?

    /// Makes an error.
    package init(_ code: Code, _ message: String, underlyingError: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlyingError = underlyingError
    }

    /// The message.
    public var description: String { message }
}
