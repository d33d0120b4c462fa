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
        var reader = FieldReader(value)
        var challenges: [AuthChallenge] = []
        reader.skip(", \t")
        while let word = reader.token() {
            let space = reader.skip(" \t")
            if !challenges.isEmpty, reader.take(UInt8(ascii: "=")) {
                reader.skip(" \t")
                guard challenges[challenges.count - 1].parameters.count < maxParameters,
                    let text = reader.tokenOrQuotedString()
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
                if let byte = reader.rest.first, byte != UInt8(ascii: ","), !HTTPCharacters.isToken(byte) {
                    return challenges
                }
                reader.skip(", \t")
                continue
            }
            reader.skip(" \t")
            guard reader.rest.isEmpty || reader.rest.first == UInt8(ascii: ",") else { return challenges }
            reader.skip(", \t")
        }
        return challenges
    }
}

extension FieldReader {
    /// Reads a token68 that ends the challenge. Reads nothing if a parameter follows instead.
    fileprivate mutating func token68() -> String? {
        let body = rest.prefix { HTTPCharacters.isLetterOrDigit($0) || "-._~+/".utf8.contains($0) }
        guard !body.isEmpty else { return nil }
        let padding = rest.dropFirst(body.count).prefix { $0 == UInt8(ascii: "=") }
        let after = rest.dropFirst(body.count + padding.count).drop(while: HTTPCharacters.isBlank)
        guard after.isEmpty || after.first == UInt8(ascii: ",") else { return nil }
        rest = after
        return String(decoding: body + padding, as: UTF8.self)
    }
}
