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

    /// The message.
    public var description: String { message }
}

extension NameError {
    /// A text as messages quote it: whatever does not show is escaped, so that it cannot forge a line of a log, and it is
    /// cut at 80 octets.
    static func quoted(_ bytes: some Collection<UInt8>) -> String {
        var result = "\""
        for scalar in String(decoding: bytes.prefix(80), as: UTF8.self).unicodeScalars {
            result += scalar.escaped(asASCII: !isPrintable(scalar))
        }
        return result + (bytes.count > 80 ? "…\"" : "\"")
    }

    /// An octet as messages name it: the character, or its name where it does not show.
    static func name(of octet: UInt8) -> String {
        switch octet {
        case 0: "NUL"
        case 9: "a tab"
        case 10: "LF"
        case 13: "CR"
        case 32: "a space"
        case 0x21..<0x7f: "\"\(Unicode.Scalar(octet))\""
        case 0x80...: "a character that is not ASCII"
        default: "a control character (0x\(String(octet, radix: 16)))"
        }
    }

    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: false
        default: true
        }
    }
}
