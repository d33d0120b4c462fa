// SPDX-License-Identifier: Apache-2.0

/// The error of an operation on the cookies of a web view or browser. `message` is one line that names the cookie or the store,
/// and a remedy.
public struct WebViewError: Error, Sendable, CustomStringConvertible {
    /// What failed.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the code, for logs and JSON.
        public let description: String
        /// The store rejects a cookie.
        public static let refused = Code(description: "refused")
        /// The store did not answer, or does not show the result of a request.
        public static let timedOut = Code(description: "timedOut")
        /// The store failed.
        public static let failed = Code(description: "failed")
        /// The calling task was cancelled.
        public static let cancelled = Code(description: "cancelled")
        /// The store and the jar are no longer kept in sync.
        public static let stopped = Code(description: "stopped")
    }

    /// What failed.
    public var code: Code
    /// One line: what failed and a remedy.
    public var message: String
    /// The cause, if there is one.
    public var underlyingError: (any Error)?

    /// Creates an error.
    public init(_ code: Code, _ message: String, underlyingError: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlyingError = underlyingError
    }

    /// The message.
    public var description: String { message }
}
