// SPDX-License-Identifier: Apache-2.0

/// The error for a text that is not a valid URL, host or address. `description` names the text and the remedy in one line.
public struct NameError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error, for use in a switch or comparison.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for logs.
        public let description: String
        /// The text is not a URL that HTTP or WebSocket can request.
        public static let malformedURL = Code(description: "malformedURL")
        /// The scheme is not `http`, `https`, `ws` or `wss`.
        public static let unsupportedScheme = Code(description: "unsupportedScheme")
        /// The host is empty, too long or has an invalid character.
        public static let malformedHost = Code(description: "malformedHost")
        /// The port is missing or not a number from 1 to 65535. An ``Endpoint`` may also have port 0.
        public static let malformedPort = Code(description: "malformedPort")
        /// The text is not an IPv4 or IPv6 address.
        public static let malformedAddress = Code(description: "malformedAddress")
    }

    /// The kind of error.
    public let code: Code
    /// One line that names the text and the remedy.
    public let message: String

    /// Creates an error. Other modules that parse names may use it too.
    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { message }
}

extension NameError {
    /// Quotes a text for a message. Escapes characters that are not printable, so that the text cannot forge a log line, and
    /// cuts the text at 80 octets.
    static func quoted(_ bytes: some Collection<UInt8>) -> String {
        var result = "\""
        for scalar in String(decoding: bytes.prefix(80), as: UTF8.self).unicodeScalars {
            result += scalar.escaped(asASCII: !isPrintable(scalar))
        }
        return result + (bytes.count > 80 ? "…\"" : "\"")
    }

    /// Names an octet in a message: the character, or its name if it is not printable.
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
