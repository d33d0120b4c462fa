// SPDX-License-Identifier: Apache-2.0

#if Redis
/// A command as words: its name and its arguments.
typealias RedisCommand = [[UInt8]]

/// The server's reply to one command.
enum RedisValue: Hashable, Sendable {
    case octets([UInt8])
    case integer(Int64)
    case array([RedisValue])
    /// The key does not exist.
    case nothing
    /// The server refused the command.
    case refused(String)
    /// A reply of an unexpected type, or a key of another type.
    case unexpected

    /// The reason why the server refused the command. Nil for other replies.
    var refusal: String? { if case .refused(let reason) = self { reason } else { nil } }
    /// The octets of a string. Nil for other replies.
    var octets: [UInt8]? { if case .octets(let octets) = self { octets } else { nil } }
    /// The string as text. Nil for other replies.
    var text: String? { octets.map { String(decoding: $0, as: UTF8.self) } }
    /// The elements of an array. Nil for other replies.
    var elements: [RedisValue]? { if case .array(let elements) = self { elements } else { nil } }
    /// The number of an integer reply, or of a string of digits. Nil for other replies.
    var number: Int64? { if case .integer(let number) = self { number } else { text.flatMap { Int64($0) } } }

    /// A server's error.
    init(error octets: ArraySlice<UInt8>) {
        let text = String(printable: octets)
        self = Self.errorsOfKeys.contains { text.hasPrefix($0) } ? .unexpected : .refused(text)
    }

    /// The errors for a key with another type or value, which another program has written. Every other error concerns
    /// the server.
    private static let errorsOfKeys = [
        "WRONGTYPE", "ERR value is not an integer", "ERR increment or decrement would overflow",
    ]
}

extension String {
    /// A text of the server for logs: at most 200 characters, printable ASCII only.
    init(printable octets: some Sequence<UInt8>) {
        let printable = octets.prefix(200).map { (0x20...0x7e).contains($0) ? $0 : UInt8(ascii: "?") }
        self.init(decoding: printable, as: UTF8.self)
    }
}
#endif
