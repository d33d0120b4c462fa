// SPDX-License-Identifier: Apache-2.0

/// Why a server cannot be started, or a file of it cannot be used. `description` is one line.
public struct ServerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong, to branch on.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for logs.
        public let description: String
        /// A zone file cannot be read, or is not in the form of RFC 1035 §5.
        public static let badZone = Code(description: "badZone")
        /// The certificate or its key cannot be used.
        public static let badCertificate = Code(description: "badCertificate")
        /// An account's secret or key has a wrong form.
        public static let badAccount = Code(description: "badAccount")
        /// The address and port cannot be listened at.
        public static let cannotListen = Code(description: "cannotListen")
    }

    /// What went wrong.
    public var code: Code
    /// One line that names the file or address, what is wrong, and what to try.
    public var message: String

    /// Makes an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The text for logs.
    public var description: String { message }
}
