// SPDX-License-Identifier: Apache-2.0

/// Why a double could not do its part. `description` says in one line what it waited for or what it was given.
public struct TestingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong, to branch on.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for logs.
        public let description: String
        /// What was waited for did not happen within the limit.
        public static let timedOut = Code(description: "timedOut")
        /// An address is not a loopback address, or the machine has no such address.
        public static let badAddress = Code(description: "badAddress")
        /// No port was free on all of the addresses that were asked for.
        public static let noPort = Code(description: "noPort")
        /// The peer closed the connection while bytes were awaited.
        public static let closed = Code(description: "closed")
        /// The peer sent what the double does not understand, or more than it takes.
        public static let badInput = Code(description: "badInput")
        /// A double was asked for something that its script does not hold.
        public static let unscripted = Code(description: "unscripted")
        /// What was checked does not keep a duty of its protocol.
        public static let violation = Code(description: "violation")
        /// Descriptors or connections were left over.
        public static let leaked = Code(description: "leaked")
    }

    /// What went wrong.
    public let code: Code
    /// One line that names the thing.
    public let message: String

    /// Makes an error; for handlers that want to end a connection with one.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Code and message.
    public var description: String { "\(code): \(message)" }
}
