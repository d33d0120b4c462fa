// SPDX-License-Identifier: Apache-2.0

import HTTPWire

/// A challenge of `WWW-Authenticate` (RFC 9110 §11.3): a scheme with parameters or with one token.
struct AuthChallenge: Hashable, Sendable {
    /// The maximum number of challenges read from one field; the rest is ignored.
    static let maxChallenges = 16
    /// The maximum number of parameters of one challenge. Parsing stops at the next one.
    static let maxParameters = 32

    /// The scheme in lower case.
    var scheme: String
    var token: String?
    /// The parameters by name in lower case. If a name occurs twice, the first value counts.
    var parameters: [String: String] = [:]

    /// Parses the value of a field. Returns the challenges before the first syntax error.
    static func parse(_ value: String) -> [AuthChallenge] {
        var reader = Reader(rest: Array(value.utf8)[...])
        var challenges: [AuthChallenge] = []
        reader.skip(", \t")
        while let word = reader.token(), challenges.count <= maxChallenges {
            let space = reader.skip(" \t")
            if reader.peek == UInt8(ascii: "="), !challenges.isEmpty {
                reader.next()
                reader.skip(" \t")
                guard challenges[challenges.count - 1].parameters.count < maxParameters,
                    let text = reader.quotedOrToken()
                else { return challenges }
                let name = word.lowercased()
                if challenges[challenges.count - 1].parameters[name] == nil {
                    challenges[challenges.count - 1].parameters[name] = text
                }
            } else {
                guard challenges.count < maxChallenges else { return challenges }
                challenges.append(AuthChallenge(scheme: word.lowercased()))
                // A scheme is followed by its token or by its first parameter, without a comma in between.
                if space, let token = reader.token68() { challenges[challenges.count - 1].token = token }
                reader.skip(" \t")
                if let byte = reader.peek, byte != UInt8(ascii: ","), !HTTPCharacters.isToken(byte) {
                    return challenges
                }
                reader.skip(", \t")
                continue
            }
            reader.skip(" \t")
            guard reader.peek == nil || reader.peek == UInt8(ascii: ",") else { return challenges }
            reader.skip(", \t")
        }
        return challenges
    }

    private struct Reader {
        var rest: ArraySlice<UInt8>

        var peek: UInt8? { rest.first }

        mutating func next() { rest = rest.dropFirst() }

        @discardableResult
        mutating func skip(_ set: StaticString) -> Bool {
            let before = rest.count
            set.withUTF8Buffer { bytes in rest = rest.drop { bytes.contains($0) } }
            return rest.count < before
        }

        mutating func token() -> String? {
            let word = rest.prefix(while: HTTPCharacters.isToken)
            guard !word.isEmpty else { return nil }
            rest = rest.dropFirst(word.count)
            return String(decoding: word, as: UTF8.self)
        }

        /// Reads a token68 that ends the challenge. Reads nothing if a parameter follows instead.
        mutating func token68() -> String? {
            let body = rest.prefix { Self.isLetterOrDigit($0) || "-._~+/".utf8.contains($0) }
            guard !body.isEmpty else { return nil }
            let padding = rest.dropFirst(body.count).prefix { $0 == UInt8(ascii: "=") }
            let after = rest.dropFirst(body.count + padding.count).drop { $0 == 0x20 || $0 == 0x09 }
            guard after.isEmpty || after.first == UInt8(ascii: ",") else { return nil }
            rest = after
            return String(decoding: body + padding, as: UTF8.self)
        }

        mutating func quotedOrToken() -> String? {
            guard peek == UInt8(ascii: "\"") else { return token() }
            next()
            var text: [UInt8] = []
            while let byte = peek {
                next()
                switch byte {
                case UInt8(ascii: "\""):
                    return String(decoding: text, as: UTF8.self)
                case UInt8(ascii: "\\"):
                    guard let escaped = peek else { return nil }
                    next()
                    text.append(escaped)
                default:
                    text.append(byte)
                }
            }
            return nil
        }

        static func isLetterOrDigit(_ byte: UInt8) -> Bool {
            (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
        }
    }
}
