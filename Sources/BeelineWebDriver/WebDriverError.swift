// SPDX-License-Identifier: Apache-2.0

/// Why a browser did not do something. `message` is one line that says what failed and what to try.
public struct WebDriverError: Error, Sendable, CustomStringConvertible {
    /// What failed, to branch on.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for logs and JSON.
        public let description: String
        /// A program is not installed.
        public static let notInstalled = Code(description: "notInstalled")
        /// The browser or its driver did not come up.
        public static let cannotStart = Code(description: "cannotStart")
        /// The browser refused a command.
        public static let refused = Code(description: "refused")
        /// A command took too long.
        public static let timedOut = Code(description: "timedOut")
        /// The browser has gone.
        public static let ended = Code(description: "ended")
    }

    /// What failed.
    public var code: Code
    /// One line.
    public var message: String
    /// The cause, where there is one.
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
