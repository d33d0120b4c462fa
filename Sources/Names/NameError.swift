// SPDX-License-Identifier: Apache-2.0

/// Why a text is not a URL, a host or an address. `description` names the text and the remedy in one line.
public struct NameError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, to branch on.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for logs.
        public let description: String
        /// The text is not a URL that HTTP can be asked for.
        public static let malformedURL = Code(description: "malformedURL")
        /// The scheme is none of `http`, `https`, `ws`, `wss`.
        public static let unsupportedScheme = Code(description: "unsupportedScheme")
        /// The host is empty, too long or has a character that no host has.
        public static let malformedHost = Code(description: "malformedHost")
        /// The port is not a number between 1 and 65535 (0 is allowed nowhere in a URL).
        public static let malformedPort = Code(description: "malformedPort")
        /// The text is not an IPv4 or IPv6 address.
        public static let malformedAddress = Code(description: "malformedAddress")
    }

    /// What is wrong.
    public let code: Code
    /// One line that names the text and what to do about it.
    public let message: String

    /// Makes an error; for the types of this module and those that read names themselves.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}
