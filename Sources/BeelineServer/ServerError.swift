// SPDX-License-Identifier: Apache-2.0

/// The reason why a server cannot start or a file cannot be used. `description` is one line.
public struct ServerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of an error.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for logs.
        public let description: String
        /// A zone file cannot be read, or does not have the format of RFC 1035 §5.
        public static let badZone = Code(description: "badZone")
        /// A list of names cannot be read.
        public static let badList = Code(description: "badList")
        /// The certificate or its key cannot be used.
        public static let badCertificate = Code(description: "badCertificate")
        /// An account's secret or key is malformed.
        public static let badAccount = Code(description: "badAccount")
        /// The server cannot listen on the address and port.
        public static let cannotListen = Code(description: "cannotListen")
    }

    /// The kind of the error.
    public var code: Code
    /// One line that names the file or address, the problem, and a remedy.
    public var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The text for logs.
    public var description: String { message }
}
