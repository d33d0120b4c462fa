// SPDX-License-Identifier: Apache-2.0

#if Redis
/// The error of a shared jar or of a server's address. `message` is one line that says what failed and what to do.
public struct RedisError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of the error.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for logs and JSON.
        public let description: String
        /// The name of the jar is not valid.
        public static let badName = Code(description: "badName")
        /// The key file cannot be used.
        public static let badKey = Code(description: "badKey")
        /// The URL of a server or jar is not valid.
        public static let badURL = Code(description: "badURL")
        /// The file with the password or the authorities cannot be used.
        public static let badSecret = Code(description: "badSecret")
        /// The server could not be used within the time limit. The local jar keeps working.
        public static let unavailable = Code(description: "unavailable")
        /// Another process was still logging in at the end of the time limit.
        public static let timedOut = Code(description: "timedOut")
        /// The lease of a login ended before the login did. Its changes were discarded.
        public static let leaseLost = Code(description: "leaseLost")
        /// A login ended, but the jar is not logged in. Its changes were kept.
        public static let notLoggedIn = Code(description: "notLoggedIn")
        /// A login changed more than 1,000 cookies. Its changes were discarded.
        public static let tooManyChanges = Code(description: "tooManyChanges")
        /// The jar was closed.
        public static let closed = Code(description: "closed")
    }

    /// The kind of the error.
    public let code: Code
    /// One line that says what failed and what to do.
    public let message: String

    init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

    /// The text for logs.
    public var description: String { message }
}
#endif
