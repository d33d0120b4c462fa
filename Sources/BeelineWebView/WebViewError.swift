// SPDX-License-Identifier: Apache-2.0

/// Why something was not done with a web view's or browser's cookies. `message` is one line that names the cookie or the
/// store, and the remedy.
public struct WebViewError: Error, Sendable, CustomStringConvertible {
    /// What went wrong, to branch on.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for logs and JSON.
        public let description: String
        /// The store does not take a cookie.
        public static let refused = Code(description: "refused")
        /// The store did not answer, or does not show what it said to have done.
        public static let timedOut = Code(description: "timedOut")
        /// The store failed.
        public static let failed = Code(description: "failed")
        /// The task that asked was cancelled.
        public static let cancelled = Code(description: "cancelled")
        /// Nobody follows any more.
        public static let stopped = Code(description: "stopped")
    }

    /// What went wrong.
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
