// SPDX-License-Identifier: Apache-2.0

/// The error of a test double. `description` names, in one line, the condition it waited for or the invalid input.
public struct TestingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error. Only ``timedOut`` and ``closed`` are for comparison; the message describes the others.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for logs.
        public let description: String
        /// A condition was not met within its time limit.
        public static let timedOut = Code(description: "timedOut")
        /// An address is not a loopback address.
        package static let badAddress = Code(description: "badAddress")
        /// No port is free on all of the given addresses, or the machine lacks one of them.
        package static let noPort = Code(description: "noPort")
        /// The peer closed the connection while the double was reading, or the server stopped.
        public static let closed = Code(description: "closed")
        /// The peer sent invalid data or exceeded a limit.
        package static let badInput = Code(description: "badInput")
        /// A request has no scripted reply.
        package static let unscripted = Code(description: "unscripted")
        /// The tested code violates its protocol's requirements.
        package static let violation = Code(description: "violation")
        /// Descriptors or connections were left open.
        package static let leaked = Code(description: "leaked")
    }

    /// The kind of error.
    public let code: Code
    /// One line that describes the error.
    public let message: String

    /// Creates an error. A handler may throw one to end its connection.
    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The code and the message.
    public var description: String { "\(code): \(message)" }
}
